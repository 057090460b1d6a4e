package coldtier_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
)

type manualClock struct{ ms atomic.Int64 }

func (c *manualClock) Now() time.Time       { return time.UnixMilli(c.ms.Load()) }
func (c *manualClock) move(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// tester is the common part of testing.TB and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// harness has the stores of a test, which survive the tiers that are opened on them.
type harness struct {
	dir      string
	clock    *manualClock
	hot      *memlog.Log
	db       *sqldb.DB
	files    blob.Store
	recalled map[uint64][]uint64 // by conversation
	onRecall func()              // called when the tier asks for recalled messages; may be nil
	config   coldtier.Config
	several  bool // nodes share the stores
}

func newHarness(t testing.TB) *harness {
	h := &harness{dir: t.TempDir(), clock: &manualClock{}, hot: memlog.New(nil), recalled: map[uint64][]uint64{},
		config: coldtier.Config{After: 24 * time.Hour, MinEntries: 3, MaxEntries: 7, MaxBytes: 400, Pause: 1, RewriteAfter: time.Minute, SweepAfter: time.Minute}}
	h.clock.ms.Store(1_800_000_000_000)
	var err error
	h.db, err = sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, h.db.Close()) })
	h.files, err = diskblob.Open(h.dir)
	must(t, err)
	return h
}

func (h *harness) tier(t tester) *coldtier.Tier {
	t.Helper()
	return h.tierOn(t, h.hot)
}

// tierOn opens a tier above a log.
func (h *harness) tierOn(t tester, hot timeline.Log) *coldtier.Tier {
	t.Helper()
	tier, err := coldtier.New(context.Background(), coldtier.Deps{Hot: hot, DB: h.db, Files: h.files, Clock: h.clock, Logger: slog.New(slog.DiscardHandler), SingleNode: !h.several,
		Recalled: func(_ context.Context, key timeline.Key, from, to uint64) (list []uint64, err error) {
			for _, seq := range h.recalled[key.ID] {
				if seq >= from && seq <= to {
					list = append(list, seq)
				}
			}
			if h.onRecall != nil {
				h.onRecall()
			}
			return list, nil
		}}, h.config)
	must(t, err)
	return tier
}

func conversation(n uint64) timeline.Key { return timeline.Key{Kind: timeline.Conversation, ID: n} }

// payload is the stored form of a message, or of a control entry.
func (h *harness) payload(key timeline.Key, control bool, text string) []byte {
	e := message.Entry{ID: id.MessageOf(h.clock.ms.Load(), 0, 1, id.Conversation(key.ID)), Sender: 1, Device: 2, Control: control, Content: message.AppendText(nil, text)}
	return e.Append(nil)
}

func token(n uint64) timeline.Token { return timeline.Token{Sender: 1, Device: 2, Counter: n} }

// fill appends messages, the first of which is a control entry, and lets them become old.
func (h *harness) fill(t testing.TB, key timeline.Key, entries int) {
	t.Helper()
	for n := range entries {
		a := timelinetest.Append(h.hot, &timeline.AppendRequest{Key: key, Payload: h.payload(key, n == 0, fmt.Sprint("message ", n+1)), Counts: n > 0, Token: token(key.ID<<32 + uint64(n) + 1)})
		must(t, a.Err)
		h.clock.move(time.Second)
	}
	h.clock.move(25 * time.Hour)
}

// stored returns the seqs that a log has.
func stored(t tester, log timeline.Log, key timeline.Key) (seqs []uint64) {
	t.Helper()
	entries, err := log.Read(context.Background(), key, 0, 10_000)
	must(t, err)
	for _, e := range entries {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

func upTo(n uint64) (seqs []uint64) {
	for seq := uint64(1); seq <= n; seq++ {
		seqs = append(seqs, seq)
	}
	return seqs
}

// fileNames returns the files in the blob store.
func (h *harness) fileNames(t tester) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// manifest returns the files that the manifest has, in use or not.
func (h *harness) manifest(t tester) (names []string) {
	t.Helper()
	rows, err := h.db.Read().QueryContext(context.Background(), `SELECT file FROM cold_segments`)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, filepath.Join(h.dir, filepath.FromSlash(name)))
	}
	must(t, rows.Err())
	slices.Sort(names)
	return names
}

// contents returns all segments' entries that have some content, as text.
func (h *harness) contents(t tester) (all string) {
	t.Helper()
	for _, name := range h.fileNames(t) {
		key, err := filepath.Rel(h.dir, name)
		must(t, err)
		f, _, err := h.files.Open(context.Background(), filepath.ToSlash(key))
		must(t, err)
		_, entries, err := coldtier.ReadAll(f.(io.ReadSeeker))
		must(t, err)
		must(t, f.Close())
		for _, e := range entries {
			var m message.Entry
			must(t, m.Decode(e.Payload))
			text, _ := message.TextOf(m.Content)
			all += fmt.Sprintf("%d %s\n", e.Seq, text)
		}
	}
	return all
}
