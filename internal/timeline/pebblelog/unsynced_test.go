package pebblelog

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/rialto-im/rialto/internal/timeline"
)

// gated is a disk whose syncs wait, once it is shut, until open is closed.
func gated(fs vfs.FS) (_ vfs.FS, shut *atomic.Bool, open chan struct{}) {
	shut, open = &atomic.Bool{}, make(chan struct{})
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if shut.Load() {
				<-open
			}
		}
		return nil
	})), shut, open
}

// What is in Pebble and not on the disk is shown by no reader, is in no record, and is not acknowledged.
func TestNothingIsShownBeforeItsSync(t *testing.T) {
	ctx := t.Context()
	fs, shut, open := gated(vfs.NewMem())
	told := make(chan timeline.Commit, 2)
	l, err := Open("log", Options{FS: fs, Listener: func(commits []timeline.Commit) { told <- commits[0] }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key := cutKey(0)
	if a := appendOne(l, 0); a.Err != nil {
		t.Fatal(a.Err)
	}
	first := <-told
	shut.Store(true)
	second := cutAppend(cutConversations)
	done := make(chan struct{})
	second.Done = func(*timeline.Append) { close(done) }
	l.Append(second)
	for ok := false; !ok; runtime.Gosched() { // until Pebble has it
		if _, ok, err = l.get(nil, entryKey(nil, key, 2)); err != nil {
			t.Fatal(err)
		}
	}

	look := func(want uint64) {
		t.Helper()
		check := func(where string, got uint64, err error) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s shows entries to %d (%v), and %d are stored", where, got, err, want)
			}
		}
		entries, err := l.Read(ctx, key, 0, 10)
		check("Read", uint64(len(entries)), err)
		entries, err = l.ReadBack(ctx, key, 0, 10)
		check("ReadBack", uint64(len(entries)), err)
		entries, err = l.Get(ctx, []timeline.Ref{{Key: key, From: 1, To: 9}})
		check("Get", uint64(len(entries)), err)
		tail, err := l.Tail(ctx, key)
		check("Tail", tail.Seq, err)
		records, err := l.Records(ctx, key.Partition(), 0, 10)
		check("Records", uint64(len(records)), err)
	}
	look(1)
	ended, end := context.WithCancel(ctx)
	end()
	if seq, _, err := l.LastBy(ended, key, second.Author); !errors.Is(err, context.Canceled) {
		t.Errorf("LastBy shows %d, %v, before its sync", seq, err)
	}
	select {
	case <-done:
		t.Error("acknowledged before its sync")
	case c := <-told:
		t.Errorf("the listener was told of %+v before its sync", c)
	default:
	}
	close(open)
	<-done
	if c := <-told; second.Err != nil || second.Seq != 2 || c.Record != first.Record+1 || c.Entries[0].Seq != 2 {
		t.Errorf("after the sync: %+v, the listener was told of %+v", second, c)
	}
	look(2)
	if seq, _, err := l.LastBy(ctx, key, second.Author); seq != 2 || err != nil {
		t.Errorf("LastBy shows %d, %v, after the sync", seq, err)
	}
}

// While the disk takes its time, what waits is bounded by its bytes too; one that alone has more passes.
func TestTheQueueIsBoundedInBytes(t *testing.T) {
	fs, shut, open := gated(vfs.NewMem())
	l, err := Open("log", Options{FS: fs, QueueBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	shut.Store(true)
	var group sync.WaitGroup
	var taken, refused atomic.Int64
	put := func(n uint64, size int) {
		a := cutAppend(n * cutConversations) // of one conversation
		a.Payload = make([]byte, size)
		a.Done = func(a *timeline.Append) {
			switch a.Err {
			case nil:
				taken.Add(int64(size))
			case timeline.ErrBusy:
				refused.Add(1)
			default:
				t.Error(a.Err)
			}
			group.Done()
		}
		group.Add(1)
		l.Append(a)
	}
	put(0, 100_000)
	s := l.shardOf(cutKey(0))
	for { // until its commit is under way
		s.mu.Lock()
		n := len(s.queue)
		s.mu.Unlock()
		if n == 0 {
			break
		}
		runtime.Gosched()
	}
	for n := range uint64(100) {
		put(n+1, 1000)
	}
	close(open)
	group.Wait()
	if taken.Load() != 110_000 || refused.Load() != 90 {
		t.Errorf("%d bytes were taken, %d appends refused", taken.Load(), refused.Load())
	}
}
