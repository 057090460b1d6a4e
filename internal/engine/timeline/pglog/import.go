package pglog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Import stores rows of another log unchanged, in the caller's transaction. Nobody else may use the log, and it must not have any of the
// rows. Rows of a timeline may come in any order, but entries of an inbox must be ascending.
func Import(ctx context.Context, tx pgx.Tx, rows []timeline.Row) error {
	i := importer{tables: map[string]*copyRows{}, inboxes: map[uint64]timeline.Entry{}, records: map[uint16]uint64{}, checkpoints: map[uint16]uint64{}}
	for n := range rows {
		if err := i.add(&rows[n]); err != nil {
			return err
		}
	}
	for name, t := range i.tables {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return i.updatePositions(ctx, tx)
}

// EndImport sets the epoch of the inboxes, and that in which the imported log was restored, to at least some values.
func EndImport(ctx context.Context, tx pgx.Tx, epoch, restored uint32) error {
	_, err := tx.Exec(ctx, `UPDATE log_meta SET epoch = greatest(epoch, $1::BIGINT), restored = greatest(restored, $2::BIGINT)`, int64(epoch), int64(restored))
	return err
}

// importer is a batch of rows, by table.
type importer struct {
	tables  map[string]*copyRows
	inboxes map[uint64]timeline.Entry // newest entries
	// records and checkpoints of partitions.
	records, checkpoints map[uint16]uint64
}

type copyRows struct {
	columns []string
	rows    [][]any
}

func (i *importer) put(table string, columns []string, row ...any) {
	t := i.tables[table]
	if t == nil {
		t = &copyRows{columns: columns}
		i.tables[table] = t
	}
	t.rows = append(t.rows, row)
}

var (
	entryColumns  = []string{"id", "seq", "counted", "payload"}
	postColumns   = []string{"id", "seq", "prev", "payload"}
	tailColumns   = []string{"id", "seq", "counted", "access", "shard"}
	headColumns   = []string{"kind", "id", "head"}
	authorColumns = []string{"id", "author", "seq", "counted"}
	tokenColumns  = []string{"sender", "device", "counter", "id", "seq", "shard"}
	sumColumns    = []string{"id", "seq", "sum"}
	recordColumns = []string{"partition", "seq", "ids", "firsts", "lasts"}
)

func (i *importer) add(r *timeline.Row) error {
	n, shard := rowID(r.Key), int16(r.Key.Shard())
	switch r.Kind {
	case timeline.RowEntry:
		payload := r.Entry.Payload
		if payload == nil {
			payload = []byte{}
		}
		if r.Key.Kind != timeline.Inbox {
			i.put("log_entries", entryColumns, n, int64(r.Entry.Seq), int64(r.Entry.Counted), payload)
			return nil
		}
		i.put("log_posts", postColumns, n, int64(r.Entry.Seq), int64(r.Entry.Prev), payload)
		i.inboxes[r.Key.ID] = timeline.Entry{Seq: r.Entry.Seq, Prev: r.Entry.Prev}
	case timeline.RowTail:
		i.put("log_tails", tailColumns, n, int64(r.Tail.Seq), int64(r.Tail.Counted), int64(r.Tail.Access), shard)
	case timeline.RowFirstSeq:
		i.put("log_heads", headColumns, int16(r.Key.Kind), n, int64(r.Seq))
		if r.Key.Kind == timeline.Inbox && r.Seq > i.inboxes[r.Key.ID].Seq+1 { // if all was trimmed, it marks the end of the inbox
			i.inboxes[r.Key.ID] = timeline.Entry{Seq: r.Seq - 1}
		}
	case timeline.RowAuthor:
		i.put("log_authors", authorColumns, n, int64(r.Author), int64(r.Seq), int64(r.Counted))
	case timeline.RowToken:
		if r.Token.Counter == 0 {
			i.put("log_sums", sumColumns, n, int64(r.Seq), r.Token.Sum)
		} else {
			i.put("log_tokens", tokenColumns, int64(r.Token.Sender), int64(r.Token.Device), int64(r.Token.Counter), n, int64(r.Seq), shard)
		}
	case timeline.RowCheckpoint:
		i.checkpoints[r.Partition], i.records[r.Partition] = r.Seq, max(i.records[r.Partition], r.Seq)
	case timeline.RowRecord:
		ids, firsts, lasts := []int64{}, []int64{}, []int64{} // not NULL if all entries of a record have expired
		for _, ref := range r.Record.Refs {
			ids, firsts, lasts = append(ids, int64(ref.Key.ID)), append(firsts, int64(ref.From)), append(lasts, int64(ref.To))
		}
		i.put("log_records", recordColumns, int16(r.Partition), int64(r.Record.Seq), ids, firsts, lasts)
		i.records[r.Partition] = max(i.records[r.Partition], r.Record.Seq)
	default:
		return fmt.Errorf("a row of an unknown kind, %d", r.Kind)
	}
	return nil
}

// updatePositions advances the tails of inboxes and partitions to the imported rows.
func (i *importer) updatePositions(ctx context.Context, tx pgx.Tx) error {
	var b pgx.Batch
	if len(i.inboxes) > 0 {
		var ids, prevs, seqs []int64
		var shards []int16
		for id, e := range i.inboxes {
			ids, prevs, seqs = append(ids, int64(id)), append(prevs, int64(e.Prev)), append(seqs, int64(e.Seq))
			shards = append(shards, int16(timeline.Key{Kind: timeline.Inbox, ID: id}.Shard()))
		}
		b.Queue(`INSERT INTO log_inboxes AS t (id, prev, seq, shard) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::SMALLINT[])
			ON CONFLICT (id) DO UPDATE SET prev = excluded.prev, seq = excluded.seq WHERE t.seq < excluded.seq`, ids, prevs, seqs, shards)
	}
	for p, seq := range i.records {
		b.Queue(`UPDATE log_partitions SET record = greatest(record, $2) WHERE partition = $1`, int16(p), int64(seq))
	}
	for p, seq := range i.checkpoints {
		b.Queue(`UPDATE log_checkpoints SET record = greatest(record, $2) WHERE partition = $1`, int16(p), int64(seq))
	}
	return tx.SendBatch(ctx, &b).Close()
}
