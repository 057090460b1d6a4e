package pebblelog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"golang.org/x/sys/unix"
)

// logText collects the log output of many goroutines.
type logText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *logText) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *logText) has(s string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), s)
}

// countingFS is a file system that counts writes and syncs.
func countingFS(fs vfs.FS) (vfs.FS, *atomic.Int64) {
	n := &atomic.Int64{}
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpCreate:
			n.Add(1)
		}
		return nil
	})), n
}

func appendOne(l *Log, n uint64) *timeline.AppendRequest {
	a := cutAppend(n)
	done := make(chan struct{})
	a.Done = func(*timeline.AppendRequest) { close(done) }
	l.Append(a)
	<-done
	return a
}

// Below the reserve of free space, writes fail with a reason and reads continue. Writes continue when there is space again.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	free := atomic.Uint64{}
	free.Store(1 << 30)
	said := &logText{}
	fs, writes := countingFS(vfs.NewMem())
	l, err := Open("log", Options{FS: fs, Free: func() (uint64, error) { return free.Load(), nil }, Reserve: 1 << 20, Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stored := appendOne(l, 0)
	if stored.Err != nil {
		t.Fatal(stored.Err)
	}
	if err := l.Post(ctx, []timeline.Post{{Key: cutInbox(1), Payload: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	l.syncUnsynced() // Pebble's own pending writes are done
	l.unsynced.Store(true)
	free.Store(1<<20 - 1)
	l.checkFree()
	before := writes.Load()
	refused := appendOne(l, cutConversations)
	if e := errs.Of(refused.Err); e == nil || e.Kind != errs.Unavailable || e.Reason != "storage_full" || e.Retry == 0 || refused.Seq != 0 {
		t.Errorf("append on a full disk: got %+v, seq %d", e, refused.Seq)
	}
	if err := l.Post(ctx, []timeline.Post{{Key: cutInbox(1), Payload: []byte("x")}}); err != timeline.ErrStorageFull {
		t.Errorf("posting on a full disk: %v", err)
	}
	l.syncUnsynced()
	if err := l.PutCheckpoint(ctx, stored.Key.Partition(), 1); err != nil {
		t.Errorf("a checkpoint on a full disk: %v", err)
	}
	if err := l.Trim(ctx, cutInbox(1), uint64(l.Epoch())<<32+2); err != timeline.ErrStorageFull {
		t.Errorf("trimming on a full disk: %v", err)
	}
	if n := writes.Load() - before; n != 0 {
		t.Errorf("%d writes reached a full disk; a write without space would end the process", n)
	}
	if got, err := l.Read(ctx, stored.Key, 0, 10); err != nil || len(got) != 1 {
		t.Errorf("reading on a full disk: %v, %v", got, err)
	}
	if !said.has("the disk is full") {
		t.Error("the log does not say that the disk is full")
	}
	free.Store(1 << 30)
	l.checkFree()
	again := appendOne(l, cutConversations)
	if again.Err != nil || again.Seq != 2 || again.Duplicate {
		t.Errorf("with space again: seq %d, duplicate %v, %v", again.Seq, again.Duplicate, again.Err)
	}
	if !said.has("the disk has space again") {
		t.Error("the log does not say that the disk has space again")
	}
}

// failing is a disk whose writes and syncs, or only those of the write-ahead log, fail after it breaks.
func failing(fs vfs.FS, cause error) (vfs.FS, *atomic.Bool) {
	broken := &atomic.Bool{}
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !broken.Load() {
			return nil
		}
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpCreate, errorfs.OpFilePreallocate:
			return cause
		}
		return nil
	})), broken
}

// When the disk fails, the process ends with the reason in its log, and nothing more is acknowledged. Acknowledged entries are there after
// a repair of the disk, and after a power cut.
func TestBrokenDisk(t *testing.T) {
	for _, cause := range []error{unix.EIO, unix.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			fs, broken := failing(disk, cause)
			said := &logText{}
			var ended atomic.Int64 // number of calls of Fatal
			l, err := Open("log", Options{FS: fs, Logger: slog.New(slog.NewTextHandler(said, nil)), Fatal: func(string) { ended.Add(1) }})
			if err != nil {
				t.Fatal(err)
			}
			const before, after = 48, 50
			acked := map[uint64]seenEntry{}
			for n := range uint64(before) {
				a := appendOne(l, n)
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				acked[n] = seenEntry{a.Key, a.Seq, string(a.Payload)}
			}
			broken.Store(true)
			for range 2 { // the second time as a retry
				for n := uint64(before); n < before+after; n++ {
					if a := appendOne(l, n); !errs.Is(a.Err, errs.Unavailable) {
						t.Errorf("append %d on a failed disk: seq %d, duplicate %v, %v", n, a.Seq, a.Duplicate, a.Err)
					}
				}
			}
			if ended.Load() == 0 {
				t.Error("Fatal was not called")
			}
			for n := range uint64(cutConversations) {
				k := cutKey(n)
				entries, err := l.Read(t.Context(), k, 0, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if e.Seq > before/cutConversations {
						t.Errorf("entry %d of %v is visible but not stored", e.Seq, k)
					}
				}
			}
			if !said.has("the disk failed") || !said.has(cause.Error()) {
				t.Errorf("the log does not say why: %s", said.text.String())
			}
			// Open the files as a killed process leaves them, and as a power cut leaves them.
			for _, percent := range []int{0, 100} {
				found, err := checkCut(disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rngOf(newRand())}), cutAppend, 0, seenOf(acked), acked)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range found {
					t.Error(v)
				}
			}
		})
	}
}

func seenOf(acked map[uint64]seenEntry) (seen []seenEntry) {
	for _, e := range acked {
		seen = append(seen, e)
	}
	return seen
}

// A disk that fills up during a flush or compaction neither causes a busy loop nor delays readers or Close, and loses nothing. A log is not
// opened if the disk has no space for the contents of its write-ahead log.
func TestFlushesAndCompactionsOnAFullDisk(t *testing.T) {
	full, tries := atomic.Bool{}, atomic.Int64{}
	disk := vfs.NewMem()
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !full.Load() || op.Kind != errorfs.OpCreate || !strings.HasSuffix(op.Path, ".sst") {
			return nil
		}
		tries.Add(1)
		return unix.ENOSPC
	}))
	free := atomic.Uint64{}
	free.Store(1 << 30)
	options := Options{FS: fs, Free: func() (uint64, error) { return free.Load(), nil }, Logger: quietLog()}
	l, err := Open("log", options)
	if err != nil {
		t.Fatal(err)
	}
	a := appendOne(l, 0)
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	full.Store(true)
	free.Store(0)
	l.checkFree()
	if _, err := l.db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "a flush is attempted", func() bool { return tries.Load() > 0 })
	if got, err := l.Read(t.Context(), a.Key, 0, 10); err != nil || len(got) != 1 {
		t.Errorf("reading during the attempts: %v, %v", got, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := tries.Load(); n > 3000 { // a busy loop would reach this number in a moment
		t.Errorf("the flush was attempted %d times", n)
	}
	free.Store(minFree)
	if l, err := Open("log", options); err == nil || !strings.Contains(err.Error(), "8 MiB free, and 9 MiB are needed") {
		t.Errorf("opening on a disk that is too small: %v, %v", l, err)
	}
	full.Store(false)
	free.Store(1 << 30)
	if l, err = Open("log", options); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := l.Read(t.Context(), a.Key, 0, 10); err != nil || len(got) != 1 {
		t.Errorf("with space again: %v, %v", got, err)
	}
}

// A log that cannot be opened returns an error.
func TestUnreadableDisk(t *testing.T) {
	fs, broken := failing(vfs.NewMem(), unix.ENOSPC)
	broken.Store(true)
	if l, err := Open("log", Options{FS: fs}); err == nil {
		t.Error(fmt.Errorf("a log on a full disk was opened: %w", l.Close()))
	}
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
