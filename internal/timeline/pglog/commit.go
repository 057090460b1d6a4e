package pglog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/timeline"
)

// The statements of an append, in one transaction. Each sees what was committed when it began: what the third looks at was
// committed by those who had the tails before. Its arguments, which may be megabytes, are bound to a portal before the others run, so
// that a node which stops in the middle of sending holds no locks: those are taken when all has come.
const (
	// One that has ended fails.
	lockWriter = `WITH w AS (SELECT FROM log_writers WHERE writer = $1::BIGINT AND NOT ended FOR UPDATE) SELECT 1 / count(*) FROM w`

	lockTails = `SELECT partition, record FROM log_partitions WHERE partition = ANY($1::SMALLINT[]) ORDER BY partition FOR UPDATE`

	storeBatch = `
WITH a AS (
	SELECT u.*, coalesce(t.seq, 0) AS tail, coalesce(t.counted, 0) AS before, coalesce(k.seq, s.seq) AS stored,
		coalesce(k.seq, s.seq) IS NULL AND (u.if_access IS NULL OR u.if_access = coalesce(t.access, 0)) AS fresh
	FROM unnest($1::BIGINT[], $2::SMALLINT[], $3::SMALLINT[], $4::BYTEA[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[], $8::UUID[],
			$9::BIGINT[], $10::BOOLEAN[], $11::BIGINT[], $12::BOOLEAN[], $13::BOOLEAN[]) WITH ORDINALITY
		AS u(id, shard, partition, payload, sender, device, counter, sum, author, counts, if_access, set_access, carry, place)
	LEFT JOIN log_tails t ON t.id = u.id
	LEFT JOIN log_tokens k ON k.sender = u.sender AND k.device = u.device AND k.counter = u.counter AND k.id = u.id
	LEFT JOIN log_sums s ON s.id = u.id AND s.sum = u.sum
), n AS MATERIALIZED (
	SELECT a.*, tail + count(*) FILTER (WHERE fresh) OVER line AS seq, before + count(*) FILTER (WHERE fresh AND counts) OVER line AS counted
	FROM a WINDOW line AS (PARTITION BY id ORDER BY place ROWS UNBOUNDED PRECEDING)
), g AS MATERIALIZED (
	SELECT id, min(shard) AS shard, min(partition) AS partition, min(seq) AS first, max(seq) AS seq, max(counted) AS counted,
		max(seq) FILTER (WHERE set_access) AS access, bool_or(carry) AS carry
	FROM n WHERE fresh GROUP BY id
), entries AS (
	INSERT INTO log_entries (id, seq, counted, payload) SELECT id, seq, counted, payload FROM n WHERE fresh
), tokens AS (
	INSERT INTO log_tokens (sender, device, counter, id, seq, shard)
	SELECT sender, device, counter, id, seq, shard FROM n WHERE fresh AND counter IS NOT NULL
), sums AS (
	INSERT INTO log_sums (id, seq, sum) SELECT id, seq, sum FROM n WHERE fresh AND sum IS NOT NULL
), authors AS (
	INSERT INTO log_authors (id, author, seq, counted)
	SELECT DISTINCT ON (id, author) id, author, seq, counted FROM n WHERE fresh AND author <> 0 ORDER BY id, author, seq DESC
	ON CONFLICT (id, author) DO UPDATE SET seq = excluded.seq, counted = excluded.counted
), tails AS (
	INSERT INTO log_tails AS t (id, seq, counted, access, shard) SELECT id, seq, counted, coalesce(access, 0), shard FROM g
	ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, counted = excluded.counted,
		access = CASE WHEN excluded.access > 0 THEN excluded.access ELSE t.access END
), records AS (
	INSERT INTO log_records (partition, seq, ids, firsts, lasts)
	SELECT g.partition, (SELECT record + 1 FROM log_partitions p WHERE p.partition = g.partition), array_agg(id), array_agg(first), array_agg(seq)
	FROM g WHERE carry GROUP BY g.partition
), partitions AS (
	UPDATE log_partitions SET record = record + 1 WHERE partition IN (SELECT partition FROM g WHERE carry)
), result AS (
	UPDATE log_writers SET batch = $15::BIGINT, used = now(),
		seqs = ARRAY(SELECT CASE WHEN fresh THEN seq ELSE 0 END FROM n ORDER BY place),
		records = ARRAY(SELECT record + 1 FROM log_partitions WHERE partition = ANY($16::SMALLINT[]) ORDER BY partition)
	WHERE writer = $14::BIGINT
)
SELECT place, seq, counted, fresh, coalesce(stored, 0) FROM n`

	runStored = `FETCH ALL FROM ` + portal
)

// portal is storeBatch with its arguments.
const portal = "store"

// Between tries of a batch.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = time.Second
)

// commit stores what can be stored of a batch, in one act, and sets every result.
func (c *committer) commit(g *group) {
	if len(g.sent) == 0 {
		return
	}
	failpoint.Hit("timeline/before-commit")
	patience := c.log.options.Patience
	if c.down { // those who wait longer have waited for long
		patience = 0
	}
	until := time.Now().Add(patience)
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := c.try(g)
		if err == nil {
			c.down = false
			g.finish()
			failpoint.Hit("timeline/after-sync-before-done")
			return
		}
		if !again(err) || time.Now().Add(wait).After(until) {
			c.log.options.Logger.Error("appends are refused: the database does not store them", "appends", len(g.sent), "error", err)
			c.down = again(err)
			g.fail(refusal(err))
			return
		}
		c.log.options.Logger.Warn("appends wait for the database", "appends", len(g.sent), "error", err)
		time.Sleep(wait)
	}
}

// try sends a batch, unless it is found that it was stored by an earlier try.
func (c *committer) try(g *group) error {
	if c.conn != nil && c.conn.link.Stale() {
		c.conn.drop()
	}
	if c.conn == nil || c.conn.IsClosed() {
		if err := c.connect(); err != nil {
			return err
		}
	}
	if c.doubt == g && c.stored != nil {
		return c.recall(g)
	}
	c.doubt, c.stored = nil, nil
	partitions := partitionsOf(g)
	c.batch++
	c.arguments.fill(g.sent)
	c.parts = appendNumbers(c.parts, typeInt2, partitions)
	writer := int8Value(c.writer)
	c.conn.link.Deadline(c.log.options.Patience / 2)
	p := c.conn.StartPipeline(context.Background())
	c.conn.Frontend().SendBind(&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: "store", ParameterFormatCodes: binaryFormat, ResultFormatCodes: binaryFormat,
		Parameters: append(c.arguments[:], writer, int8Value(c.batch), c.parts)})
	p.SendQueryPrepared("writer", [][]byte{writer}, binaryFormat, binaryFormat)
	p.SendQueryPrepared("tails", [][]byte{c.parts}, binaryFormat, binaryFormat)
	p.SendQueryPrepared("run", nil, nil, binaryFormat)
	results, err := c.exchange(p, len(g.sent))
	if err == nil && c.conn.link.Unconfirmed() {
		err = errUnconfirmed
	}
	if err != nil {
		if !undone(err) {
			c.doubt = g
		}
		if !undone(err) || code(err) == divisionByZero {
			c.conn.drop()
		}
		return err
	}
	c.conn.link.Deadline(0)
	c.settle(g, partitions, results)
	return nil
}

// exchange sends what a pipeline has as one transaction. Unless the error is of PostgreSQL, and says that the transaction was
// undone, nobody knows what became of it.
func (c *committer) exchange(p *pgconn.Pipeline, n int) (*results, error) {
	r := &results{rows: make([]result, n)}
	err := p.Sync()
	for statement := 0; err == nil; statement++ {
		var got any
		if got, err = p.GetResults(); err != nil || got == nil {
			break
		}
		if _, ok := got.(*pgconn.PipelineSync); ok {
			return r, p.Close() // committed
		}
		err = r.read(statement, got.(*pgconn.ResultReader))
	}
	if err == nil {
		err = errors.New("the database ended its answer early")
	}
	if closing := p.Close(); closing != nil && !undone(closing) {
		err = closing
	}
	return nil, err
}

// results of a batch, as the statements give them.
type results struct {
	records []uint64 // of the partitions, before the batch
	rows    []result
}

type result struct {
	seq, counted, stored uint64
	fresh                bool
}

func (r *results) read(statement int, rr *pgconn.ResultReader) error {
	for rr.NextRow() {
		v := rr.Values()
		switch statement {
		case 1:
			r.records = append(r.records, be(v[1]))
		case 2:
			r.rows[be(v[0])-1] = result{seq: be(v[1]), counted: be(v[2]),
				fresh: v[3][0] == 1, stored: be(v[4])}
		}
	}
	_, err := rr.Close()
	return err
}

// settle gives the appends of a stored batch their results; what was stored before is for retryLoop to read.
func (c *committer) settle(g *group, partitions []uint16, r *results) {
	for i, a := range g.sent {
		got := r.rows[i]
		switch {
		case got.fresh:
			a.Seq, a.Counted = got.seq, got.counted
			if a.Carry {
				g.carry(a, r.records[slices.Index(partitions, a.Key.Partition())]+1)
			}
		case got.stored != 0:
			a.Seq, a.Duplicate = got.stored, true
			g.known = append(g.known, a)
		default:
			a.Err = timeline.ErrStale
		}
	}
}

// carry adds an append to what the listener is told.
func (g *group) carry(a *timeline.Append, record uint64) {
	p := a.Key.Partition()
	i := slices.IndexFunc(g.commits, func(c timeline.Commit) bool { return c.Partition == p })
	if i < 0 {
		i = len(g.commits)
		g.commits = append(g.commits, timeline.Commit{Partition: p, Record: record})
	}
	g.commits[i].Entries = append(g.commits[i].Entries, timeline.Committed{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
}

// fillStored reads what is stored for tokens that were known. What is not there any more has expired.
func (l *Log) fillStored(known []*timeline.Append) error {
	refs := make([]timeline.Ref, len(known))
	for i, a := range known {
		refs[i] = timeline.Ref{Key: a.Key, From: a.Seq, To: a.Seq}
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Patience)
	defer cancel()
	found, err := l.getAll(ctx, refs, -1)
	if err != nil {
		return refusal(err)
	}
	for _, f := range found {
		a := known[f.ref]
		a.Counted, a.Stored = f.Counted, f.Payload
	}
	return nil
}

// partitionsOf a batch, rising.
func partitionsOf(g *group) []uint16 {
	var has [timeline.Partitions]bool
	for _, a := range g.sent {
		has[a.Key.Partition()] = true
	}
	var all []uint16
	for p := range uint16(timeline.Partitions) {
		if has[p] {
			all = append(all, p)
		}
	}
	return all
}

// recall gives a batch the results that its transaction left, and looks up what it found known before.
func (c *committer) recall(g *group) error {
	found, partitions := c.stored, partitionsOf(g)
	if len(found.seqs) != len(g.sent) || len(found.records) != len(partitions) {
		return fmt.Errorf("a writer's row has %d results of %d", len(found.seqs), len(g.sent))
	}
	r := &results{rows: make([]result, len(g.sent))}
	for _, record := range found.records {
		r.records = append(r.records, record-1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.log.options.Patience)
	defer cancel()
	var refs []timeline.Ref
	var at []int
	for i, a := range g.sent {
		if seq := found.seqs[i]; seq != 0 {
			r.rows[i] = result{seq: seq, fresh: true}
			refs, at = append(refs, timeline.Ref{Key: a.Key, From: seq, To: seq}), append(at, i)
			continue
		}
		seq, err := c.log.TokenSeq(ctx, a.Key, &a.Token)
		if err != nil {
			return err
		}
		r.rows[i].stored = seq // where there is none, the access version was another
	}
	entries, err := c.log.getAll(ctx, refs, -1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r.rows[at[e.ref]].counted = e.Counted
	}
	c.doubt, c.stored = nil, nil
	c.settle(g, partitions, r)
	return nil
}
