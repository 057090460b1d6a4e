package pebblelog

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A copy has what was appended and posted before it, synced or not, and nothing later. It can be opened, whatever was in tables and in
// write-ahead logs. The log that was copied observes its own write-ahead logs only.
func TestACopyIsOneMoment(t *testing.T) {
	dir, inbox := t.TempDir(), timeline.Key{Kind: timeline.Inbox, ID: 9}
	n := &recordedPositions{logs: map[uint64]uint64{}}
	l, err := Open(dir, Options{WALObserver: n, Logger: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	const rounds, each = 6, 30
	next := uint64(0)
	for round := range rounds {
		for range each {
			if a := appendOne(l, next); a.Err != nil {
				t.Fatal(a.Err)
			}
			next++
		}
		if err := l.Post(t.Context(), []timeline.Post{{Key: inbox, Payload: []byte("posted")}}); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 {
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		n.mu.Lock()
		obsolete := slices.Clone(n.obsolete)
		n.mu.Unlock()
		current := l.fs.currentLog.Load()
		to := filepath.Join(t.TempDir(), "copy")
		if err := l.CopyTo(to); err != nil {
			t.Fatal(err)
		}
		n.mu.Lock()
		if now := l.fs.currentLog.Load(); now != current || !slices.Equal(n.obsolete, obsolete) {
			t.Errorf("after a copy the current log is %d, before %d, and %v are obsolete, before %v", now, current, n.obsolete, obsolete)
		}
		n.mu.Unlock()
		if a := appendOne(l, next); a.Err != nil { // not in the copy
			t.Fatal(a.Err)
		}
		next++
		n.mu.Lock()
		for log, position := range n.logs {
			if err := checkWAL(vfs.Default, dir, WALPosition{log, position}); err != nil {
				t.Error(err)
			}
		}
		n.mu.Unlock()
		checkCopy(t, to, l.Epoch(), next-1, uint64(round+1))
	}
	if err := l.CopyTo(dir); err == nil {
		t.Error("a copy over a directory that exists succeeded")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkCopy requires that a copy has so many entries in all conversations, and in an inbox.
func checkCopy(t *testing.T, dir string, epoch uint32, appended, posted uint64) {
	t.Helper()
	if err := CheckFiles(dir, nil); err != nil {
		t.Fatal(err)
	}
	c, err := Open(dir, Options{MustExist: true, Logger: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if c.Epoch() != epoch+1 {
		t.Errorf("a copy goes on in epoch %d, the log was in %d", c.Epoch(), epoch)
	}
	keys, err := c.TailKeys(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var entries uint64
	for _, k := range keys {
		tail, err := c.Tail(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Read(t.Context(), k, 0, int(appended)+1)
		if err != nil || uint64(len(list)) != tail.Seq {
			t.Errorf("a copy has %d entries of %v, whose tail is %+v: %v", len(list), k, tail, err)
		}
		entries += tail.Seq
	}
	in, err := c.Read(t.Context(), timeline.Key{Kind: timeline.Inbox, ID: 9}, 0, 100)
	if err != nil || entries != appended || uint64(len(in)) != posted {
		t.Errorf("a copy has %d entries and %d posts, want %d and %d: %v", entries, len(in), appended, posted, err)
	}
}

// A write-ahead log of a copy, which has the name of one that the log had, is not taken for its own.
func TestFilesOfACopyAreNotObserved(t *testing.T) {
	dir := t.TempDir()
	n := &recordedPositions{logs: map[uint64]uint64{}}
	l, err := Open(dir, Options{WALObserver: n, Logger: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	current := l.fs.currentLog.Load()
	for name, own := range map[string]bool{filepath.Join(dir, "copy", "000001.log"): false, filepath.Join(dir, "000001.log"): true} {
		if err := l.fs.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		n.mu.Lock()
		obsolete := len(n.obsolete)
		n.mu.Unlock()
		l.fs.currentLog.Store(current)
		f, err := l.fs.Create(name, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), l.fs.Remove(name)); err != nil {
			t.Fatal(err)
		}
		n.mu.Lock()
		if changed, told := l.fs.currentLog.Load() != current, len(n.obsolete) != obsolete; changed != own || told != own {
			t.Errorf("%s: the current log changed: %v, one became obsolete: %v, want both %v", name, changed, told, own)
		}
		n.mu.Unlock()
	}
	l.fs.currentLog.Store(current)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// The epoch in which a log goes on after a loss is stored, and stays when it is started again.
func TestRestoredEpoch(t *testing.T) {
	fs := vfs.NewMem()
	for i, c := range []struct {
		options         Options
		epoch, restored uint32
	}{
		{Options{}, 1, 0}, {Options{}, 2, 0}, {Options{Epoch: 1000, Restored: true}, 1001, 1001}, {Options{}, 1002, 1001}, {Options{Restored: true}, 1003, 1003},
	} {
		c.options.FS = fs
		l, err := Open("log", c.options)
		if err != nil {
			t.Fatal(err)
		}
		if l.Epoch() != c.epoch || l.RestoredEpoch() != c.restored {
			t.Errorf("start %d: epoch %d, restored %d, want %d and %d", i, l.Epoch(), l.RestoredEpoch(), c.epoch, c.restored)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
