package indexprocess_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexprocess"
)

// points returns the checkpoints of an index.
func points(t *testing.T, index searchindex.Index, names ...string) []uint64 {
	t.Helper()
	at, err := index.Checkpoints(t.Context(), names)
	must(t, err)
	return at
}

// An index without documents has no process. With the first document it has one, which has the checkpoints of before.
func TestAnEmptyIndexHasNoProcess(t *testing.T) {
	dir := t.TempDir()
	index := open(t, "serve", dir, empty)
	for n, name := range []string{"a", "b", "a"} {
		must(t, index.Apply(t.Context(), &searchindex.Batch{Checkpoints: map[string]uint64{name: uint64(n + 1)}}))
	}
	r, err := index.Search(t.Context(), query())
	must(t, err)
	if at := points(t, index, "a", "none", "b"); at[0] != 3 || at[1] != 0 || at[2] != 2 || len(r.Hits) != 0 || index.starts.Load() != 0 {
		t.Errorf("it has the checkpoints %v, %d documents, and %d processes", at, len(r.Hits), index.starts.Load())
	}
	must(t, index.Apply(t.Context(), batch(7)))
	r, err = index.Search(t.Context(), query())
	must(t, err)
	if at := points(t, index, "a", "b", "m"); at[0] != 3 || at[1] != 2 || at[2] != 7 || len(r.Hits) != 1 || index.starts.Load() != 1 {
		t.Errorf("with a document, it has the checkpoints %v, %d documents, and %d processes", at, len(r.Hits), index.starts.Load())
	}
	must(t, index.Close())
	if at := points(t, open(t, "serve", dir), "a", "b", "m"); at[0] != 3 || at[1] != 2 || at[2] != 7 {
		t.Errorf("opened again, it has the checkpoints %v", at)
	}
}

// The checkpoints in memory are bounded: with more, the process has them.
func TestManyCheckpointsOfAnEmptyIndex(t *testing.T) {
	index := open(t, "serve", t.TempDir(), empty)
	b := &searchindex.Batch{Checkpoints: map[string]uint64{}}
	for n := range indexprocess.MaxDeferred {
		b.Checkpoints[fmt.Sprint(n)] = uint64(n)
	}
	must(t, index.Apply(t.Context(), b))
	if n := index.starts.Load(); n != 0 {
		t.Fatalf("%d processes were started", n)
	}
	must(t, index.Apply(t.Context(), &searchindex.Batch{Checkpoints: map[string]uint64{"more": 8}}))
	if at := points(t, index, "5", "more"); at[0] != 5 || at[1] != 8 || index.starts.Load() != 1 {
		t.Errorf("it has the checkpoints %v, and %d processes were started", at, index.starts.Load())
	}
}

// An empty index answers as others do when contexts have ended, and when it is closed. Nobody waits for a process.
func TestCallsOfAnEmptyIndexEnd(t *testing.T) {
	index := open(t, "hung", "", empty)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check := func(ctx context.Context, isWanted func(error) bool) {
		t.Helper()
		_, err1 := index.Search(ctx, query())
		_, err2 := index.Checkpoints(ctx, []string{"m"})
		for n, err := range []error{err1, err2, index.Apply(ctx, &searchindex.Batch{}), index.Apply(ctx, batch(1))} {
			if !isWanted(err) {
				t.Errorf("call %d: %v", n, err)
			}
		}
	}
	check(ended, func(err error) bool { return errors.Is(err, context.Canceled) })
	if n := index.starts.Load(); n != 0 {
		t.Errorf("%d processes were started", n)
	}
	// One that waits for a start ends with its context.
	soon, cancel := context.WithCancel(t.Context())
	go func() {
		eventually.True(t, "a start", func() bool { return index.starts.Load() == 1 })
		cancel()
	}()
	if err := index.Apply(soon, batch(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch: %v", err)
	}
	must(t, index.Close())
	check(t.Context(), func(err error) bool { return err != nil && !isUnavailable(err) })
}

// A process that nobody calls ends, with the index closed. The next calls, however many, start one, and find what was applied.
func TestAnIdleProcessEnds(t *testing.T) {
	index := open(t, "serve", t.TempDir(), idleSoon)
	for n := range uint64(3) {
		must(t, index.Apply(t.Context(), batch(n+1)))
		before := index.process.Load()
		eventually.True(t, "the end of the idle process", func() bool { return !runs(before) })
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				if r, err := index.Search(t.Context(), query()); err != nil || len(r.Hits) != int(n+1) {
					t.Errorf("found %d documents, want %d: %v", len(r.Hits), n+1, err)
				}
			})
		}
		group.Wait()
		if index.process.Load() == before {
			t.Error("no other process was started")
		}
	}
	if n := index.restarts.Load(); n != 0 {
		t.Errorf("%d ends count as failures", n)
	}
}

// A process is not ended during a call, however long that takes.
func TestAProcessIsNotIdleDuringACall(t *testing.T) {
	index, other := open(t, "patient", "", idleSoon), open(t, "serve", t.TempDir(), idleSoon)
	ctx, cancel := context.WithCancel(t.Context())
	searches := searchAll(t, index, ctx, 1)
	eventually.True(t, "the search", func() bool {
		at, err := index.Checkpoints(t.Context(), nil)
		return err == nil && at[0] == 1
	})
	for n := range uint64(3) { // it is ended again and again meanwhile
		before := other.process.Load()
		must(t, other.Apply(t.Context(), batch(n+1)))
		eventually.True(t, "the end of the idle process", func() bool { return !runs(before) })
	}
	if at := points(t, index); at[0] != 1 || at[1] != 0 {
		t.Errorf("of its searches, %d began and %d ended", at[0], at[1])
	}
	cancel()
	searches.Wait()
}

// An index that takes long to open keeps its process.
func TestASlowIndexKeepsItsProcess(t *testing.T) {
	slow := open(t, "patient", "", func(c *indexprocess.Config) { c.Idle, c.SlowStart = time.Millisecond, time.Nanosecond })
	other := open(t, "serve", t.TempDir(), idleSoon)
	before := []*exec.Cmd{slow.process.Load(), other.process.Load()}
	eventually.True(t, "the end of the idle process", func() bool { return !runs(before[1]) })
	points(t, slow)
	if slow.starts.Load() != 1 || !runs(before[0]) {
		t.Errorf("%d processes were started", slow.starts.Load())
	}
}

// A process that hangs is killed, and another one started. Until then calls end with their contexts; those whose contexts do not end fail when it is killed.
func TestAHungProcessIsKilled(t *testing.T) {
	index := open(t, "serve", t.TempDir(), impatient)
	must(t, index.Apply(t.Context(), batch(1)))
	index.stop(t)
	ctx, cancel := context.WithCancel(t.Context())
	searches := searchAll(t, index, ctx, 10)
	cancel()
	searches.Wait()
	if err := index.Apply(t.Context(), batch(2)); !isUnavailable(err) {
		t.Errorf("a batch: %v", err)
	}
	eventually.True(t, "the other process", func() bool { return index.Apply(t.Context(), batch(2)) == nil })
	r, err := index.Search(t.Context(), query())
	must(t, err)
	if len(r.Hits) != 2 || index.restarts.Load() == 0 {
		t.Errorf("found %d documents after %d restarts", len(r.Hits), index.restarts.Load())
	}
}

// A process that hangs before the index is open is killed, too.
func TestAHungStart(t *testing.T) {
	if _, err := indexprocess.Open(t.Context(), func() indexprocess.Config {
		c := config("hung", "")
		impatient(&c)
		return c
	}()); !isUnavailable(err) {
		t.Errorf("it was opened: %v", err)
	}
}
