package indexprocess_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexprocess"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
)

func TestSuite(t *testing.T) {
	searchindextest.Run(t, func(t *testing.T, dir string) searchindex.Index {
		return open(t, "serve", dir, func(c *indexprocess.Config) {
			_, err := os.Stat(dir) // as the server finds out
			entries, _ := os.ReadDir(dir)
			c.Empty = errors.Is(err, os.ErrNotExist) || len(entries) == 0
		})
	})
}

// The process is killed again and again while batches are applied and searches run. Searches find what was applied before, or fail until it runs again. Nothing
// that was applied is missing, and the checkpoint is that of the last batch.
func TestKilled(t *testing.T) {
	index := open(t, "serve", t.TempDir())
	const batches, kills = 60, 6
	var applied atomic.Uint64
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range kills {
			eventually.True(t, "further batches", func() bool { return applied.Load() >= uint64(n*batches/kills)+rng.Uint64N(3) })
			index.kill()
			eventually.True(t, "the restart", func() bool { return index.restarts.Load() == int64(n+1) })
		}
	})
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			least := applied.Load()
			r, err := index.Search(t.Context(), query())
			if err == nil && uint64(len(r.Hits)) < least || err != nil && !isUnavailable(err) {
				t.Errorf("a search found %d of at least %d: %v", len(r.Hits), least, err)
				return
			}
		}
	})
	for n := uint64(1); n <= batches; n++ {
		var err error
		eventually.True(t, "the batch", func() bool {
			err = index.Apply(t.Context(), batch(n))
			return err == nil || !isUnavailable(err)
		})
		must(t, err)
		applied.Store(n)
	}
	close(stop)
	group.Wait()
	var at []uint64
	eventually.True(t, "the checkpoint", func() (ok bool) {
		var err error
		at, err = index.Checkpoints(t.Context(), []string{"m"})
		return err == nil
	})
	r, err := index.Search(t.Context(), query())
	must(t, err)
	if len(r.Hits) != batches || at[0] != batches {
		t.Errorf("found %d documents and the checkpoint %d, want %d", len(r.Hits), at[0], batches)
	}
}

// The process ends when its caller is killed: another one can then open the index, which has what was applied.
func TestEndsWithItsCaller(t *testing.T) {
	dir := t.TempDir()
	caller := command("call", dir)
	out, err := caller.StdoutPipe()
	must(t, err)
	must(t, caller.Start())
	if line := firstLine(t, out); line != "ready" {
		t.Fatalf("the caller says %q", line)
	}
	must(t, caller.Process.Kill())
	_ = caller.Wait() // it was killed
	var index *blevesearch.Index
	eventually.True(t, "the end of the process", func() bool { // it holds the lock of the index until then
		index, err = blevesearch.Open(dir, slog.New(slog.DiscardHandler))
		return err == nil
	})
	defer index.Close() //nolint:errcheck // a test
	if r, err := index.Search(t.Context(), query()); err != nil || len(r.Hits) != 1 {
		t.Errorf("found %d documents, want 1: %v", len(r.Hits), err)
	}
}

// The process ends when its input does, on systems that do not kill it.
func TestEndsWithItsInput(t *testing.T) {
	err := indexprocess.Serve(strings.NewReader(""), io.Discard, func() (searchindex.Index, error) { return &patient{}, nil })
	if !errors.Is(err, indexprocess.ErrCallerEnded) {
		t.Errorf("it ended with %v", err)
	}
}

// A damaged index is reported as such at the start, and if the process finds it damaged when it starts again.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	index := open(t, "serve", dir)
	must(t, index.Apply(t.Context(), batch(1)))
	must(t, os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("of another program\n"), 0o600))
	index.kill()
	var err error
	eventually.True(t, "the damage", func() bool {
		_, err = index.Search(t.Context(), query())
		return err != nil && !isUnavailable(err)
	})
	if !errors.Is(err, searchindex.ErrCorrupt) {
		t.Errorf("a search after the restart: %v", err)
	}
	if err := index.Apply(t.Context(), batch(2)); !errors.Is(err, searchindex.ErrCorrupt) {
		t.Errorf("a batch after the restart: %v", err)
	}
	must(t, index.Close())
	if _, err := indexprocess.Open(t.Context(), config("serve", dir)); !errors.Is(err, searchindex.ErrCorrupt) {
		t.Errorf("it was opened: %v", err)
	}
}

// Callers tell an index of an earlier version from a damaged one.
func TestAnIndexOfAnotherFormat(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("rialto search 1\n"), 0o600))
	if _, err := indexprocess.Open(t.Context(), config("serve", dir)); !errors.Is(err, searchindex.ErrFormat) || !errors.Is(err, searchindex.ErrCorrupt) {
		t.Errorf("it was opened: %v", err)
	}
}

// The end of a call's context ends the call, and its work in the process.
func TestCancellation(t *testing.T) {
	index := open(t, "patient", "")
	count := func(which int, want uint64) func() bool {
		return func() bool {
			at, err := index.Checkpoints(t.Context(), nil)
			return err == nil && at[which] == want
		}
	}
	const calls = 100
	ctx, cancel := context.WithCancel(t.Context())
	searches := searchAll(t, index, ctx, calls)
	eventually.True(t, "the searches", count(0, calls))
	cancel()
	searches.Wait()
	eventually.True(t, "their ends in the process", count(1, calls))

	// The process has as many as it accepts, so others wait, and they end too.
	ctx, cancel = context.WithCancel(t.Context())
	searches = searchAll(t, index, ctx, 3*calls)
	eventually.True(t, "a call that waits", func() bool {
		brief, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := index.Checkpoints(brief, nil)
		return err != nil
	})
	cancel()
	searches.Wait()
	if n := index.restarts.Load(); n != 0 {
		t.Errorf("the process was started again %d times", n)
	}
}

// searchAll begins searches that end with a context.
func searchAll(t *testing.T, index searchindex.Index, ctx context.Context, calls int) *sync.WaitGroup {
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if _, err := index.Search(ctx, query()); !errors.Is(err, context.Canceled) {
				t.Errorf("a search ended with %v", err)
			}
		})
	}
	return &group
}

// All searches succeed, however many run at once.
func TestManyCallsAtOnce(t *testing.T) {
	index := open(t, "serve", t.TempDir())
	must(t, index.Apply(t.Context(), batch(1)))
	var group sync.WaitGroup
	for range 500 {
		group.Go(func() {
			if r, err := index.Search(t.Context(), query()); err != nil || len(r.Hits) != 1 {
				t.Errorf("found %d documents: %v", len(r.Hits), err)
			}
		})
	}
	group.Wait()
	if n := index.restarts.Load(); n != 0 {
		t.Errorf("the process was started again %d times", n)
	}
}

// A batch that is larger than a frame is applied in parts, the checkpoint last.
func TestLargeBatches(t *testing.T) {
	index := open(t, "serve", t.TempDir())
	b := &searchindex.Batch{Checkpoints: map[string]uint64{"m": 9}, Delete: []searchindex.ID{{Kind: searchindex.Message, Parent: 1, Number: 1}}}
	must(t, index.Apply(t.Context(), batch(1)))
	for n := range uint64(9) {
		d := batch(n + 2).Put[0]
		d.Text = "canary " + strings.Repeat("a", 3<<20) // one word, which is not indexed
		b.Put = append(b.Put, d)
	}
	must(t, index.Apply(t.Context(), b))
	at, err := index.Checkpoints(t.Context(), []string{"m"})
	must(t, err)
	r, err := index.Search(t.Context(), query())
	must(t, err)
	if at[0] != 9 || len(r.Hits) != 9 {
		t.Errorf("the checkpoint is %d, and %d documents are found", at[0], len(r.Hits))
	}
}

// A document that is larger than a frame is refused, and the process goes on.
func TestOversizedDocuments(t *testing.T) {
	index := open(t, "serve", t.TempDir())
	b := batch(1)
	b.Put[0].Text = strings.Repeat("a", 17<<20)
	if err := index.Apply(t.Context(), b); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("it was applied: %v", err)
	}
	must(t, index.Apply(t.Context(), batch(2)))
	if n := index.restarts.Load(); n != 0 {
		t.Errorf("the process was started again %d times", n)
	}
}

// A process that replies with too large a frame is killed, and another one started.
func TestOversizedReplies(t *testing.T) {
	index := open(t, "oversized", "")
	eventually.True(t, "another process", func() bool { return index.restarts.Load() > 1 })
	eventually.True(t, "a failure", func() bool {
		_, err := index.Checkpoints(t.Context(), nil)
		return isUnavailable(err)
	})
}

// The frames of a caller are refused if they are too large, too short, or of no known kind.
func TestBadFrames(t *testing.T) {
	for want, b := range map[string]string{
		"too large":    "\xff\xff\xff\xff",
		"too short":    "\x00\x00\x00\x01\x03",
		"ends early":   "\x00\x00\x00\x09\x03",
		"unknown kind": "\x00\x00\x00\x09\x63\x00\x00\x00\x00\x00\x00\x00\x01",
		"EOF":          "\x00\x00\x00\x09\x04\x00\x00\x00\x00\x00\x00\x00\x01", // a search without a query
	} {
		err := indexprocess.Serve(strings.NewReader(b), io.Discard, func() (searchindex.Index, error) { return &patient{}, nil })
		if err == nil || errors.Is(err, indexprocess.ErrCallerEnded) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: it ended with %v, want %q", b, err, want)
		}
	}
}

// All threads of the process have its niceness, also those that it makes later, and the kernel ends it before its caller if memory runs out. Only Linux has this.
func TestPriorities(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	index := open(t, "serve", t.TempDir())
	for n := range uint64(3) {
		must(t, index.Apply(t.Context(), batch(n+1)))
	}
	list := nicenessOf(t, index.process.Load().Process.Pid)
	for _, n := range list {
		if n < niceness {
			t.Errorf("the threads have the niceness %v, want %d", list, niceness)
		}
	}
	if len(list) == 0 {
		t.Error("it has no threads")
	}
	if score := oomScoreOf(t, index.process.Load().Process.Pid); score != "500" {
		t.Errorf("its score is %s", score)
	}
}

// A closed index does not answer, and has no process.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	index := open(t, "serve", dir)
	must(t, index.Apply(t.Context(), batch(1)))
	must(t, index.Close())
	if index.process.Load().ProcessState == nil {
		t.Error("its process runs")
	} else if code := index.process.Load().ProcessState.ExitCode(); code != 0 {
		t.Errorf("its process ended with %d", code)
	}
	if _, err := index.Search(t.Context(), query()); err == nil || isUnavailable(err) {
		t.Errorf("a search: %v", err)
	}
}

// A call whose process ends because the index is closed says that it is closed: its caller then asks the index that took its place.
func TestCloseDuringACall(t *testing.T) {
	index := open(t, "patient", "")
	failed := make(chan error, 1)
	go func() { // ends with the process
		_, err := index.Search(context.Background(), query())
		failed <- err
	}()
	eventually.True(t, "the search has begun", func() bool {
		at, err := index.Checkpoints(t.Context(), nil)
		return err == nil && at[0] == 1
	})
	closed := make(chan error, 1)
	go func() { closed <- index.Close() }() // ends with the process
	eventually.True(t, "the index is being closed", func() bool {
		_, err := index.Checkpoints(t.Context(), nil)
		return errors.Is(err, searchindex.ErrClosed)
	})
	index.kill() // as it ends for a call that came behind the one that closes it
	if err := <-failed; !errors.Is(err, searchindex.ErrClosed) {
		t.Errorf("the search ended with %v", err)
	}
	must(t, <-closed)
}
