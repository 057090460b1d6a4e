package pglog_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// lived fills a log by appends, posts, trims and checkpoints.
func lived(t *testing.T, l timeline.Log) {
	ctx, k, old := t.Context(), conversation(77), conversation(78)
	for _, a := range []*timeline.AppendRequest{
		{Key: k, Payload: []byte("one"), Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Counter: 7}},
		{Key: k, Payload: []byte("two"), SetAccess: true},
		{Key: k, Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Sum: [16]byte{1, 2, 3}}},
		{Key: old, Payload: []byte("name"), SetAccess: true, NeedsFanout: true},
		{Key: old, Payload: []byte("old"), Counts: true},
		{Key: old, Payload: []byte("new"), Counts: true, Author: 1 << 62},
	} {
		must(t, timelinetest.Append(l, a).Err)
	}
	must(t, l.Expire(ctx, old, 3, []uint64{1}))
	for _, id := range []uint64{9, 10} {
		must(t, l.Acquire(ctx, inbox(id).Partition(), 1))
		for _, text := range []string{"mail", "more", "last"} {
			must(t, l.Post(ctx, []timeline.Post{{Key: inbox(id), Payload: []byte(text)}}))
		}
	}
	must(t, l.Trim(ctx, inbox(9), 1<<32+3))
	must(t, l.Trim(ctx, inbox(10), 1<<32+4))
	must(t, l.Acquire(ctx, k.Partition(), 1))
	must(t, l.PutCheckpoint(ctx, k.Partition(), 1))
}

// rows returns the rows of the tables that describe timelines.
func rows(t *testing.T, address string) (all []string) {
	c := writerSession(t, address)
	for _, table := range tables {
		if table == "log_meta" || table == "log_terms" {
			continue
		}
		rows, err := c.Query(t.Context(), `SELECT t::TEXT FROM `+table+` t ORDER BY 1`)
		must(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		for _, line := range lines {
			all = append(all, table+line)
		}
	}
	return all
}

// TestImportedRows: imported rows are those that the log itself would have written, in whatever batches they arrive.
func TestImportedRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "timeline")
	source, err := pebblelog.Open(dir, pebblelog.Options{})
	must(t, err)
	lived(t, source)
	must(t, source.Close())
	source, err = pebblelog.Open(dir, pebblelog.Options{ReadOnly: true})
	must(t, err)
	native, _ := place(t)
	l := open(t, native, pglog.Options{})
	lived(t, l)
	must(t, l.Close())
	want := rows(t, native)
	// If an inbox was trimmed to its end, the seq before its last entry is unknown.
	at := slices.Index(want, fmt.Sprintf("log_inboxes(10,%d,%d,%d)", 1<<32+2, 1<<32+3, inbox(10).Shard()))
	want[at] = fmt.Sprintf("log_inboxes(10,0,%d,%d)", 1<<32+3, inbox(10).Shard())
	for _, most := range []int{1, 1000} {
		address, _ := place(t)
		l := open(t, address, pglog.Options{})
		c := writerSession(t, address)
		var batch []timeline.Row
		flush := func() {
			must(t, pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error { return pglog.Import(t.Context(), tx, batch) }))
			batch = nil
		}
		parts := pebblelog.RowRanges()
		if most == 1 {
			slices.Reverse(parts)
		}
		for _, p := range parts {
			must(t, source.Export(t.Context(), p, nil, func(_ []byte, rows []timeline.Row) error {
				if batch = append(batch, rows...); len(batch) >= most {
					flush()
				}
				return nil
			}))
		}
		flush()
		must(t, l.Close())
		if got := rows(t, address); !slices.Equal(got, want) {
			t.Errorf("in batches of %d:\n%q\nwant\n%q", most, got, want)
		}
		must(t, pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error { return pglog.EndImport(t.Context(), tx, 7, 3) }))
		l = open(t, address, pglog.Options{})
		if l.Epoch() != 7 || l.RestoredEpoch() != 3 {
			t.Errorf("the epoch is %d, and %d that of a restore", l.Epoch(), l.RestoredEpoch())
		}
		must(t, l.Close())
	}
	must(t, source.Close())
}

// TestLookups: a lookup of many keys returns the same as single lookups.
func TestLookUps(t *testing.T) {
	address, _ := place(t)
	l := open(t, address, pglog.Options{})
	lived(t, l)
	ctx, k := t.Context(), conversation(77)
	counted, hashed := timeline.Token{Sender: 5, Device: 6, Counter: 7}, timeline.Token{Sender: 5, Device: 6, Sum: [16]byte{1, 2, 3}}
	seqs, err := l.TokenSeqs(ctx, []timeline.TokenKey{{Key: conversation(78), Token: counted}, {Key: k, Token: hashed}, {Key: k}, {Key: k, Token: counted}, {Key: conversation(78), Token: hashed}})
	if err != nil || !slices.Equal(seqs, []uint64{0, 3, 0, 1, 0}) {
		t.Errorf("tokens: %v, %v", seqs, err)
	}
	places, err := l.LatestByAuthors(ctx, []timeline.AuthorKey{{Key: k, Author: 6}, {Key: k, Author: 5}, {Key: conversation(78), Author: 1 << 62}})
	if err != nil || !slices.Equal(places, []timeline.Position{{}, {Seq: 3, Counted: 2}, {Seq: 3, Counted: 2}}) {
		t.Errorf("authors: %v, %v", places, err)
	}
	highest, err := l.HighestCounters(ctx, []timeline.Device{{Sender: 5, Device: 7}, {Sender: 5, Device: 6}})
	if err != nil || !slices.Equal(highest, []uint64{0, 7}) {
		t.Errorf("devices: %v, %v", highest, err)
	}
	tokens, authors, err := l.Stored(ctx)
	if err != nil || tokens != 2 || authors != 2 {
		t.Errorf("%d tokens, %d authors, %v", tokens, authors, err)
	}
	must(t, l.Close())
}
