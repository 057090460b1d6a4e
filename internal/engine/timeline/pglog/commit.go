package pglog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// The statements of an append, in one transaction. Each statement sees what was committed when it began, so the third sees everything that
// earlier owners of the locked tails committed. Its arguments may have megabytes. They are bound to a portal before the other
// statements run, so that a node that stops in the middle of sending holds no locks.
const (
	// It fails if the writer has ended.
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

// portal has storeBatch with its arguments.
const portal = "store"

// Delays between attempts of a batch.
const (
	retryFirst = 20 * time.Millisecond
	retryMax   = time.Second
)

// commit stores a batch atomically, except for appends that fail, and sets all results.
func (c *committer) commit(g *commitBatch) {
	if len(g.sent) == 0 {
		return
	}
	failpoint.Hit("timeline/before-commit")
	patience := c.log.options.Timeout
	if c.unavailable { // the callers have already waited for long
		patience = 0
	}
	until := time.Now().Add(patience)
	for retry := backoff.New(retryFirst, retryMax); ; {
		err := c.attempt(g)
		if err == nil {
			c.unavailable = false
			g.completeFollowers()
			failpoint.Hit("timeline/after-sync-before-done")
			return
		}
		wait := retry.Next()
		if !isTransient(err) || time.Now().Add(wait).After(until) {
			c.unavailable = isTransient(err)
			g.fail(c.refusal(g, err))
			return
		}
		c.log.options.Logger.Warn("appends are retried until the database answers", "appends", len(g.sent), "error", err)
		_ = backoff.Sleep(context.Background(), wait) // Close waits for accepted appends, until the timeout
	}
}

// refusal returns the error of a batch that is given up.
func (c *committer) refusal(g *commitBatch, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.log.options.Timeout)
	defer cancel()
	refused := c.log.storageError(ctx, err)
	if errors.Is(refused, timeline.ErrMoving) {
		if c.unresolved != g {
			c.log.moving.Do(func() {
				c.log.options.Logger.Warn("appends are refused: the timelines are being moved to another store, or are there already", "error", err)
			})
			return refused
		}
		refused = unknownOutcome(err) // an earlier attempt may have been stored before the log was frozen
	}
	c.log.options.Logger.Error("appends are refused: the database does not store them", "appends", len(g.sent), "error", err)
	return refused
}

// attempt sends a batch, unless an earlier attempt has stored it.
func (c *committer) attempt(g *commitBatch) error {
	if c.conn != nil && c.conn.link.Stale() {
		c.conn.discard()
	}
	if c.conn == nil || c.conn.IsClosed() {
		if err := c.connect(); err != nil {
			return err
		}
	}
	if c.unresolved == g && c.recovered != nil {
		return c.recoverResults(g)
	}
	c.unresolved, c.recovered = nil, nil
	partitions := partitionsOf(g)
	c.batch++
	c.arguments.fill(g.sent)
	c.parts = appendNumbers(c.parts, typeInt2, partitions)
	writer := int8Value(c.writer)
	c.conn.link.Deadline(c.log.options.Timeout / 2)
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
		if !rolledBack(err) {
			c.unresolved = g
		}
		if !rolledBack(err) || code(err) == divisionByZero {
			c.conn.discard()
		}
		return err
	}
	c.conn.link.Deadline(0)
	c.applyResults(g, partitions, results)
	return nil
}

// exchange sends a pipeline as one transaction. Unless PostgreSQL answers that the transaction was rolled back, the outcome of a failed
// exchange is unknown.
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
	if closing := p.Close(); closing != nil && !rolledBack(closing) {
		err = closing
	}
	return nil, err
}

// results of a batch, as the statements return them.
type results struct {
	records []uint64 // the last fan-out record of each partition before the batch
	rows    []result
}

type result struct {
	seq, counted, stored uint64
	fresh                bool
}

func (r *results) read(statement int, rr *pgconn.ResultReader) error {
	var wrong error
	for rr.NextRow() {
		if err := r.row(statement, rr.Values()); err != nil {
			wrong = err
		}
	}
	_, err := rr.Close()
	return errors.Join(err, wrong)
}

// row adds a row of a statement.
func (r *results) row(statement int, v [][]byte) error {
	switch statement {
	case 1:
		if !sized(v, 2, 8) {
			return errRow
		}
		r.records = append(r.records, be(v[1]))
	case 2:
		if !sized(v, 8, 8, 8, 1, 8) {
			return errRow
		}
		place := be(v[0]) - 1
		if place >= uint64(len(r.rows)) {
			return errRow
		}
		r.rows[place] = result{seq: be(v[1]), counted: be(v[2]), fresh: v[3][0] == 1, stored: be(v[4])}
	}
	return nil
}

// errRow: an invalid answer. The outcome of the transaction is unknown, as if the answer were lost.
var errRow = errors.New("the database answered with an invalid row")

// sized reports whether values have these sizes.
func sized(v [][]byte, sizes ...int) bool {
	return slices.EqualFunc(v, sizes, func(b []byte, n int) bool { return len(b) == n })
}

// applyResults sets the results of a stored batch. completeDuplicates reads the entries of appends that were stored before.
func (c *committer) applyResults(g *commitBatch, partitions []uint16, r *results) {
	for i, a := range g.sent {
		got := r.rows[i]
		switch {
		case got.fresh:
			a.Seq, a.Counted = got.seq, got.counted
			if a.NeedsFanout {
				g.addFanout(a, r.records[slices.Index(partitions, a.Key.Partition())]+1)
			}
		case got.stored != 0:
			a.Seq, a.Duplicate = got.stored, true
			g.duplicates = append(g.duplicates, a)
		default:
			a.Err = timeline.ErrStale
		}
	}
}

// addFanout adds an append to the commits for the listener.
func (g *commitBatch) addFanout(a *timeline.AppendRequest, record uint64) {
	p := a.Key.Partition()
	i := slices.IndexFunc(g.commits, func(c timeline.Commit) bool { return c.Partition == p })
	if i < 0 {
		i = len(g.commits)
		g.commits = append(g.commits, timeline.Commit{Partition: p, RecordSeq: record})
	}
	g.commits[i].Entries = append(g.commits[i].Entries, timeline.CommittedEntry{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
}

// readStored reads the stored entries of duplicates. Missing entries have expired.
func (l *Log) readStored(known []*timeline.AppendRequest) error {
	refs := make([]timeline.Ref, len(known))
	for i, a := range known {
		refs[i] = timeline.Ref{Key: a.Key, From: a.Seq, To: a.Seq}
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
	defer cancel()
	found, err := l.getAll(ctx, refs, -1)
	if err != nil {
		return l.storageError(ctx, err)
	}
	for _, f := range found {
		a := known[f.ref]
		a.Counted, a.StoredPayload = f.Counted, f.Payload
	}
	return nil
}

// partitionsOf returns the partitions of a batch, in ascending order.
func partitionsOf(g *commitBatch) []uint16 {
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

// recoverResults returns a batch the saved results of its transaction, and looks up the duplicates.
func (c *committer) recoverResults(g *commitBatch) error {
	found, partitions := c.recovered, partitionsOf(g)
	if len(found.seqs) != len(g.sent) || len(found.records) != len(partitions) {
		return fmt.Errorf("a writer's row has %d results of %d", len(found.seqs), len(g.sent))
	}
	r := &results{rows: make([]result, len(g.sent))}
	for _, record := range found.records {
		r.records = append(r.records, record-1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.log.options.Timeout)
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
		r.rows[i].stored = seq // if there is none, the access version was not the expected one
	}
	entries, err := c.log.getAll(ctx, refs, -1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r.rows[at[e.ref]].counted = e.Counted
	}
	c.unresolved, c.recovered = nil, nil
	c.applyResults(g, partitions, r)
	return nil
}
