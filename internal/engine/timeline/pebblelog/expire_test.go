package pebblelog

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A power cut may bring back expired entries, all of one Expire call together. It never removes other entries, and a retry of an expired
// entry stores nothing.
func TestPowerCutWhileEntriesExpire(t *testing.T) {
	const entries, each = 40, 7
	rng, ctx := newRand(), t.Context()
	key := cutKey(0)
	seqs := func(l *Log) string {
		t.Helper()
		found, err := l.Read(ctx, key, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		var list []uint64
		for _, e := range found {
			list = append(list, e.Seq)
		}
		return fmt.Sprint(list)
	}
	after, lost := 0, 0
	for range 20 {
		fs := vfs.NewCrashableMem()
		l, err := Open("log", Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint64(entries) {
			if a := appendOne(l, n*cutConversations); a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		left := map[uint64]string{0: seqs(l)} // by head
		newest := uint64(0)
		for head := uint64(each); head <= entries; head += each {
			if err := l.Expire(ctx, key, head, []uint64{head - 3}); err != nil {
				t.Fatal(err)
			}
			newest, left[head] = head, seqs(l)
			if rng.IntN(4) == 0 {
				l.syncUnsynced() // as about once a second
			}
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rngOf(rng)})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err = Open("log", Options{FS: clone}); err != nil {
			t.Fatal(err)
		}
		tail, err := l.Tail(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if tail.FirstSeq == newest {
			after++
		} else {
			lost++
		}
		if want, ok := left[tail.FirstSeq]; !ok || seqs(l) != want || tail.Seq != entries {
			t.Fatalf("after the power cut the tail is %+v and the entries are %s, want %s", tail, seqs(l), want)
		}
		if a := appendOne(l, cutConversations); a.Err != nil || !a.Duplicate || a.Seq != 2 || (a.StoredPayload == nil) != (tail.FirstSeq > 2) {
			t.Fatalf("a retry with the head at %d: %+v", tail.FirstSeq, a)
		}
		if err := l.Expire(ctx, timeline.Key{Kind: timeline.Conversation, ID: 12345}, 5, nil); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after == 0 || lost == 0 {
		t.Errorf("%d power cuts brought back the entries, %d did not; want some of both", after, lost)
	}
}

// On a full disk entries still expire and their space is freed; otherwise it would stay full.
func TestEntriesExpireOnAFullDisk(t *testing.T) {
	const reserve, entries = 64 << 20, 400
	ctx, free := t.Context(), atomic.Uint64{}
	free.Store(1 << 30)
	l, err := Open("log", Options{FS: vfs.NewMem(), Free: func() (uint64, error) { return free.Load(), nil }, Reserve: reserve})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	key := cutKey(0)
	for n := range uint64(entries) {
		if a := appendOne(l, n*cutConversations); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if err := l.db.Flush(); err != nil {
		t.Fatal(err)
	}
	l.syncUnsynced()
	expire := func(head uint64, wants error) {
		t.Helper()
		if err := l.Expire(ctx, key, head, nil); err != wants {
			t.Errorf("expiring to %d: %v, want %v", head, err, wants)
		}
	}
	free.Store(reserve/2 - 1)
	l.checkFree()
	if a := appendOne(l, 0); a.Err != timeline.ErrStorageFull {
		t.Fatalf("the disk is not full: %v", a.Err)
	}
	expire(entries/2, timeline.ErrStorageFull)
	if l.flushExpired() != nil {
		t.Error("without expired entries, Expire wrote to a full disk")
	}
	free.Store(reserve / 2)
	expire(entries/2, nil)
	free.Store(minFree)
	if l.flushExpired() != nil {
		t.Error("a table was written without space for it")
	}
	free.Store(reserve / 2)
	before := l.db.Metrics().Flush.Count
	done := l.flushExpired()
	if done == nil {
		t.Fatal("the space is freed")
	}
	<-done
	if after := l.db.Metrics().Flush.Count; after != before+1 {
		t.Errorf("%d tables were written, want 1", after-before)
	}
	if left, err := l.Read(ctx, key, 0, 1000); err != nil || len(left) != entries/2+1 || left[0].Seq != entries/2 {
		t.Errorf("%d entries remain, %v", len(left), err)
	}
}
