package pglog

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// storePosts is the statement of a post. It is a single statement so that a node that stops in the middle of sending holds no locks.
//
// It fails if another log has acquired one of the partitions: after a wait for a lock PostgreSQL compares the row again. It updates tails in
// the order of ids, each in its version after the wait.
const storePosts = `
WITH terms AS MATERIALIZED (
	SELECT FROM log_terms t JOIN unnest($9::SMALLINT[], $10::BIGINT[]) AS u(partition, term) ON t.partition = u.partition AND t.term = u.term
	ORDER BY t.partition FOR SHARE OF t
), tails AS (
	INSERT INTO log_inboxes AS t (id, prev, seq, shard)
	SELECT id, 0, $1::BIGINT + n, shard FROM unnest($2::BIGINT[], $3::BIGINT[], $4::SMALLINT[]) AS u(id, n, shard)
	WHERE (SELECT 1 / CASE WHEN count(*) = cardinality($9::SMALLINT[]) THEN 1 ELSE 0 END FROM terms) = 1
	ON CONFLICT (id) DO UPDATE SET prev = t.seq, seq = greatest(t.seq, $1::BIGINT) + excluded.seq - $1::BIGINT
	RETURNING id, prev, seq
), posts AS (
	INSERT INTO log_posts (id, seq, prev, payload)
	SELECT t.id, t.seq - back, CASE WHEN first THEN t.prev ELSE t.seq - back - 1 END, payload
	FROM unnest($5::BIGINT[], $6::BIGINT[], $7::BOOLEAN[], $8::BYTEA[]) AS u(id, back, first, payload) JOIN tails t ON t.id = u.id
)
SELECT id, prev, seq FROM tails`

var errInbox = errors.New("only inboxes are posted to")

// Post appends to derived timelines.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	if err := ctx.Err(); err != nil || len(posts) == 0 {
		return err
	}
	order := make([]int, len(posts)) // by id, and in each as they come
	for i := range order {
		if posts[i].Key.Kind != timeline.Inbox {
			return errInbox
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(posts[a].Key.ID, posts[b].Key.ID) })
	arguments, ends, acquired := l.arguments(posts, order)
	if !acquired {
		return timeline.ErrFenced
	}
	places := make(map[uint64]postedInbox, len(ends))
	err := l.withWriter(ctx, l.options.Timeout, func(c *pgx.Conn) error {
		if _, err := c.Prepare(ctx, "post", storePosts); err != nil { // only the first time on a connection
			return err
		}
		r := c.PgConn().ExecPrepared(ctx, "post", arguments, binaryFormat, binaryFormat)
		var wrong error
		for r.NextRow() {
			v := r.Values()
			if !sized(v, 8, 8, 8) {
				wrong = errRow
				continue
			}
			places[be(v[0])] = postedInbox{prev: be(v[1]), seq: be(v[2])}
		}
		if _, err := r.Close(); err != nil {
			return err
		}
		return wrong
	})
	if err != nil {
		if code(err) == divisionByZero {
			return timeline.ErrFenced
		}
		return l.readError(ctx, err)
	}
	begin := 0
	for _, end := range ends {
		at := places[posts[order[begin]].Key.ID]
		for n, i := range order[begin:end] {
			posts[i].Seq = at.seq - uint64(end-begin-1-n)
			posts[i].Prev = posts[i].Seq - 1
			if n == 0 {
				posts[i].Prev = at.prev
			}
		}
		begin = end
	}
	return nil
}

// postedInbox has the tail of an inbox before and after a post.
type postedInbox struct{ prev, seq uint64 }

// arguments of storePosts in PostgreSQL's binary format; ends are those of each inbox in order. acquired is false if this log has never
// acquired one of the partitions.
func (l *Log) arguments(posts []timeline.Post, order []int) (of [][]byte, ends []int, acquired bool) {
	var (
		has                [timeline.Partitions]bool
		partitions, shards []uint16
		terms, tails, n    []int64
		bytes              int
	)
	for i := 0; i < len(order); {
		k := posts[order[i]].Key
		end := i
		for end < len(order) && posts[order[end]].Key == k {
			bytes += len(posts[order[end]].Payload)
			end++
		}
		has[k.Partition()] = true
		tails, n, shards, ends = append(tails, int64(k.ID)), append(n, int64(end-i)), append(shards, k.Shard()), append(ends, end)
		i = end
	}
	acquired = true
	for p := range has {
		if has[p] {
			term := l.terms[p].Load()
			acquired = acquired && term > 0
			partitions, terms = append(partitions, uint16(p)), append(terms, term)
		}
	}
	ids, back := newArray(typeInt8, len(order), 8*len(order)), newArray(typeInt8, len(order), 8*len(order))
	first, payloads := newArray(typeBool, len(order), len(order)), newArray(typeBytes, len(order), bytes)
	begin := 0
	for _, end := range ends {
		for j := begin; j < end; j++ {
			p := &posts[order[j]]
			ids, back = appendInt8(ids, p.Key.ID), appendInt8(back, uint64(end-1-j))
			first, payloads = appendBool(first, j == begin), appendBytes(payloads, p.Payload)
		}
		begin = end
	}
	return [][]byte{int8Value(int64(l.epoch) << 32), appendNumbers(nil, typeInt8, tails), appendNumbers(nil, typeInt8, n), appendNumbers(nil, typeInt2, shards),
		ids, back, first, payloads, appendNumbers(nil, typeInt2, partitions), appendNumbers(nil, typeInt8, terms)}, ends, acquired
}
