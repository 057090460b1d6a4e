package pebblelog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// gated is a disk whose syncs wait, after it is shut, until open is closed.
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

// Entries that are in Pebble but not synced are not visible to readers, in no record, and not acknowledged.
func TestUnsyncedEntriesAreInvisible(t *testing.T) {
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
	second.Done = func(*timeline.AppendRequest) { close(done) }
	l.Append(second)
	eventually.True(t, "Pebble has the entry", func() bool {
		_, ok, err := l.get(nil, entryKey(nil, key, 2))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	})

	look := func(want uint64) {
		t.Helper()
		check := func(where string, got uint64, err error) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s shows entries up to %d (%v), but %d are stored", where, got, err, want)
			}
		}
		entries, err := l.Read(ctx, key, 0, 10)
		check("Read", uint64(len(entries)), err)
		entries, err = l.ReadBackward(ctx, key, 0, 10)
		check("ReadBackward", uint64(len(entries)), err)
		entries, err = l.Get(ctx, []timeline.Ref{{Key: key, From: 1, To: 9}})
		check("Get", uint64(len(entries)), err)
		tail, err := l.Tail(ctx, key)
		check("Tail", tail.Seq, err)
		records, err := l.FanoutRecords(ctx, key.Partition(), 0, 10)
		check("Records", uint64(len(records)), err)
	}
	look(1)
	ended, end := context.WithCancel(ctx)
	end()
	if seq, _, err := l.LatestByAuthor(ended, key, second.Author); !errors.Is(err, context.Canceled) {
		t.Errorf("LatestByAuthor shows %d, %v, before its sync", seq, err)
	}
	select {
	case <-done:
		t.Error("acknowledged before its sync")
	case c := <-told:
		t.Errorf("the listener got %+v before its sync", c)
	default:
	}
	close(open)
	<-done
	if c := <-told; second.Err != nil || second.Seq != 2 || c.RecordSeq != first.RecordSeq+1 || c.Entries[0].Seq != 2 {
		t.Errorf("after the sync: %+v, the listener got %+v", second, c)
	}
	look(2)
	if seq, _, err := l.LatestByAuthor(ctx, key, second.Author); seq != 2 || err != nil {
		t.Errorf("LatestByAuthor shows %d, %v, after the sync", seq, err)
	}
}
