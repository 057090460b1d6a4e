package pglog

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Frozen is a log that nobody writes, to be copied.
type Frozen struct{ reader }

// OpenFrozen returns the log in the database of a pool, which the caller closes.
func OpenFrozen(pool *pgxpool.Pool) *Frozen { return &Frozen{reader{pool}} }

// Epochs returns the epoch of the inboxes and that in which the log was restored.
func (f *Frozen) Epochs(ctx context.Context) (epoch, restored uint32, err error) {
	err = f.db.QueryRow(ctx, `SELECT epoch, restored FROM log_meta`).Scan(&epoch, &restored)
	return epoch, restored, err
}

// exportRows is the number of rows that are read at a time.
const exportRows = 500

// rowRange is a table, or a part of one. It is read in the order of its keys, which are numbers, and for sums a number and a UUID.
type rowRange struct {
	count, rows string
	first       []int64 // below the first key
	scan        func(row pgx.CollectableRow) (timeline.Row, []int64, error)
}

var rowRanges = map[string]rowRange{
	"conversations": {`SELECT count(*) FROM log_entries WHERE id > 0`,
		`SELECT id, seq, counted, seq - 1, payload FROM log_entries WHERE (id, seq) > ($1, $2) AND id > 0 ORDER BY id, seq LIMIT $3`, []int64{0, 0}, scanEntry(timeline.Conversation)},
	"feeds": {`SELECT count(*) FROM log_entries WHERE id < 0`,
		`SELECT id, seq, counted, seq - 1, payload FROM log_entries WHERE (id, seq) > ($1, $2) AND id < 0 ORDER BY id, seq LIMIT $3`, []int64{math.MinInt64, 0}, scanEntry(timeline.Feed)},
	"inboxes": {`SELECT count(*) FROM log_posts`,
		`SELECT id, seq, 0::BIGINT, prev, payload FROM log_posts WHERE (id, seq) > ($1, $2) ORDER BY id, seq LIMIT $3`, []int64{0, 0}, scanEntry(timeline.Inbox)},
	"tokens": {`SELECT count(*) FROM log_tokens`,
		`SELECT sender, device, counter, id, seq FROM log_tokens WHERE (sender, device, counter, id) > ($1, $2, $3, $4) ORDER BY sender, device, counter, id LIMIT $5`,
		[]int64{math.MinInt64, 0, 0, 0}, scanToken},
	"authors": {`SELECT count(*) FROM log_authors`,
		`SELECT id, author, seq, counted FROM log_authors WHERE (id, author) > ($1, $2) ORDER BY id, author LIMIT $3`, []int64{math.MinInt64, 0}, scanAuthor},
	"heads": {`SELECT count(*) FROM log_heads WHERE head > 0`,
		`SELECT kind, id, head FROM log_heads WHERE (kind, id) > ($1, $2) AND head > 0 ORDER BY kind, id LIMIT $3`, []int64{0, math.MinInt64}, scanFirstSeq},
	"tails": {`SELECT count(*) FROM log_tails`,
		`SELECT id, seq, counted, access FROM log_tails WHERE id > $1 ORDER BY id LIMIT $2`, []int64{math.MinInt64}, scanTail},
	"records": {`SELECT (SELECT count(*) FROM log_records) + (SELECT count(*) FROM log_checkpoints)`,
		`SELECT * FROM (
			SELECT partition, -1::BIGINT AS seq, record, NULL::BIGINT[], NULL::BIGINT[], NULL::BIGINT[] FROM log_checkpoints
			UNION ALL
			SELECT partition, seq, 0, ids, firsts, lasts FROM log_records
		) u WHERE (partition, seq) > ($1, $2) ORDER BY partition, seq LIMIT $3`, []int64{-1, 0}, scanRecord},
}

// keyOf returns the conversation or the feed of an id in the tables.
func keyOf(id int64) timeline.Key {
	if id < 0 {
		return timeline.Key{Kind: timeline.Feed, ID: uint64(id) &^ feedSign}
	}
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(id)}
}

func scanEntry(kind timeline.Kind) func(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	return func(row pgx.CollectableRow) (timeline.Row, []int64, error) {
		var id int64
		r := timeline.Row{Kind: timeline.RowEntry}
		err := row.Scan(&id, &r.Entry.Seq, &r.Entry.Counted, &r.Entry.Prev, &r.Entry.Payload)
		r.Key = timeline.Key{Kind: kind, ID: uint64(id) &^ feedSign}
		return r, []int64{id, int64(r.Entry.Seq)}, err
	}
}

func scanToken(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	var sender, device, counter, id int64
	r := timeline.Row{Kind: timeline.RowToken}
	err := row.Scan(&sender, &device, &counter, &id, &r.Seq)
	r.Key, r.Token = keyOf(id), timeline.Token{Sender: uint64(sender), Device: uint64(device), Counter: uint64(counter)}
	return r, []int64{sender, device, counter, id}, err
}

func scanAuthor(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	var id, author int64
	r := timeline.Row{Kind: timeline.RowAuthor}
	err := row.Scan(&id, &author, &r.Seq, &r.Counted)
	r.Key, r.Author = keyOf(id), uint64(author)
	return r, []int64{id, author}, err
}

func scanFirstSeq(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	var kind, id int64
	r := timeline.Row{Kind: timeline.RowFirstSeq}
	err := row.Scan(&kind, &id, &r.Seq)
	r.Key = timeline.Key{Kind: timeline.Kind(kind), ID: uint64(id) &^ feedSign}
	return r, []int64{kind, id}, err
}

func scanTail(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	var id int64
	r := timeline.Row{Kind: timeline.RowTail}
	err := row.Scan(&id, &r.Tail.Seq, &r.Tail.Counted, &r.Tail.Access)
	r.Key = keyOf(id)
	return r, []int64{id}, err
}

func scanRecord(row pgx.CollectableRow) (timeline.Row, []int64, error) {
	var partition, seq int64
	var checkpoint uint64
	var ids, firsts, lasts []uint64
	err := row.Scan(&partition, &seq, &checkpoint, &ids, &firsts, &lasts)
	r := timeline.Row{Kind: timeline.RowRecord, Partition: uint16(partition), Record: timeline.FanoutRecord{Seq: uint64(seq)}}
	if seq < 0 {
		r = timeline.Row{Kind: timeline.RowCheckpoint, Partition: uint16(partition), Seq: checkpoint}
	}
	for i := range ids {
		r.Record.Refs = append(r.Record.Refs, timeline.Ref{Key: timeline.Key{Kind: timeline.Conversation, ID: ids[i]}, From: firsts[i], To: lasts[i]})
	}
	return r, []int64{partition, seq}, err
}

// hashTokens is the range of the tokens by hash.
const hashTokens = "sums"

// Count returns the number of rows of a range: conversations, inboxes, feeds, tokens, sums, authors, heads, tails or records.
func (f *Frozen) Count(ctx context.Context, name string) (n uint64, err error) {
	statement := rowRanges[name].count
	if name == hashTokens {
		statement = `SELECT count(*) FROM log_sums`
	}
	err = f.db.QueryRow(ctx, statement).Scan(&n)
	return n, f.readError(ctx, err)
}

// Export passes the rows of a range to do, in the order of their keys, starting after a place that was passed to do; nil starts at the beginning.
func (f *Frozen) Export(ctx context.Context, name string, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	if name == hashTokens {
		return f.exportSums(ctx, after, do)
	}
	r, ok := rowRanges[name]
	if !ok {
		return fmt.Errorf("no range of rows is named %q", name)
	}
	at := r.first
	if after != nil {
		at = numbersAt(after)
	}
	for {
		args := make([]any, 0, len(at)+1)
		for _, n := range at {
			args = append(args, n)
		}
		rows, err := f.db.Query(ctx, r.rows, append(args, exportRows)...)
		if err != nil {
			return f.readError(ctx, err)
		}
		n := 0
		for rows.Next() {
			var row timeline.Row
			if row, at, err = r.scan(rows); err == nil {
				err = do(placeOf(at), []timeline.Row{row})
			}
			if err != nil {
				rows.Close()
				return err
			}
			n++
		}
		if err := rows.Err(); err != nil || n < exportRows {
			return f.readError(ctx, err)
		}
	}
}

func placeOf(numbers []int64) (place []byte) {
	for _, n := range numbers {
		place = binary.BigEndian.AppendUint64(place, uint64(n))
	}
	return place
}

func numbersAt(place []byte) (numbers []int64) {
	for ; len(place) >= 8; place = place[8:] {
		numbers = append(numbers, int64(binary.BigEndian.Uint64(place)))
	}
	return numbers
}

func (f *Frozen) exportSums(ctx context.Context, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	id, sum := int64(math.MinInt64), [16]byte{}
	if after != nil {
		id, sum = numbersAt(after)[0], [16]byte(after[8:])
	}
	for {
		rows, err := f.db.Query(ctx, `SELECT id, sum, seq FROM log_sums WHERE (id, sum) > ($1, $2) ORDER BY id, sum LIMIT $3`, id, sum, exportRows)
		if err != nil {
			return f.readError(ctx, err)
		}
		n := 0
		for rows.Next() {
			r := timeline.Row{Kind: timeline.RowToken}
			err := rows.Scan(&id, &sum, &r.Seq)
			r.Key, r.Token.Sum = keyOf(id), sum
			if err == nil {
				err = do(append(placeOf([]int64{id}), sum[:]...), []timeline.Row{r})
			}
			if err != nil {
				rows.Close()
				return err
			}
			n++
		}
		if err := rows.Err(); err != nil || n < exportRows {
			return f.readError(ctx, err)
		}
	}
}
