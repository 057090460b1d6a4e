package pglog

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/timeline"
)

// storePosts is the statement of a post. One, so that a node which stops in the middle of sending holds no locks.
//
// A partition that another log took fails: the row that a wait ended with is compared again. Tails are moved in the order of ids; the
// row that was waited for is the one that is moved.
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
	arguments, ends := l.arguments(posts, order)
	var lines []postLine
	err := l.writes(ctx, l.options.Patience, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, storePosts, arguments...)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[postLine])
		return err
	})
	if err != nil {
		if code(err) == divisionByZero {
			return timeline.ErrTaken
		}
		return failed(ctx, err)
	}
	places := make(map[uint64]postLine, len(lines))
	for _, line := range lines {
		places[line.ID] = line
	}
	begin := 0
	for _, end := range ends {
		at := places[posts[order[begin]].Key.ID]
		for n, i := range order[begin:end] {
			posts[i].Seq = at.Seq - uint64(end-begin-1-n)
			posts[i].Prev = posts[i].Seq - 1
			if n == 0 {
				posts[i].Prev = at.Prev
			}
		}
		begin = end
	}
	return nil
}

// postLine is where an inbox was, and is.
type postLine struct{ ID, Prev, Seq uint64 }

// arguments of storePosts; ends are those of each inbox in order.
func (l *Log) arguments(posts []timeline.Post, order []int) (of []any, ends []int) {
	var (
		has                [timeline.Partitions]bool
		partitions, shards []int16
		terms, tails, n    []int64
		ids                = make([]int64, len(order))
		back               = make([]int64, len(order))
		first              = make([]bool, len(order))
		payloads           = make([][]byte, len(order))
		epoch              = int64(l.epoch) << 32
	)
	for i := 0; i < len(order); {
		k := posts[order[i]].Key
		end := i
		for end < len(order) && posts[order[end]].Key == k {
			end++
		}
		for j := i; j < end; j++ {
			ids[j], back[j], first[j], payloads[j] = int64(k.ID), int64(end-1-j), j == i, posts[order[j]].Payload
			if payloads[j] == nil {
				payloads[j] = []byte{}
			}
		}
		has[k.Partition()] = true
		tails, n, shards, ends = append(tails, int64(k.ID)), append(n, int64(end-i)), append(shards, int16(k.Shard())), append(ends, end)
		i = end
	}
	for p := range has {
		if has[p] {
			partitions, terms = append(partitions, int16(p)), append(terms, l.terms[p].Load())
		}
	}
	return []any{epoch, tails, n, shards, ids, back, first, payloads, partitions, terms}, ends
}
