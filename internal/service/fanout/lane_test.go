package fanout

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// refusing is a log whose first posts fail, because another node has acquired the partition.
type refusing struct {
	timeline.Log
	times  int
	stored [][]byte
}

func (l *refusing) Post(_ context.Context, posts []timeline.Post) error {
	if l.times--; l.times >= 0 {
		return timeline.ErrFenced
	}
	for i := range posts {
		l.stored = append(l.stored, slices.Clone(posts[i].Payload))
	}
	return nil
}

// nowhere is a directory of users who are not connected.
type nowhere struct{}

func (nowhere) Locate(id.User) []string { return nil }

func (nowhere) Followers(id.Conversation) []string { return nil }

// TestNothingIsPostedAfterALostPartition: a lane posts events of two leases one after the other. The log rejects the first, because the
// partition is lost for a moment. The second is not posted before the first.
func TestNothingIsPostedAfterALostPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &refusing{times: 2} // once with the whole round, and once alone
		w := New(Deps{Log: log, Directory: nowhere{}, IsCurrent: func(context.Context, string) (bool, error) { return true, nil }})
		w.partition(3).active = true
		for _, fence := range []string{"1", "2"} {
			b := eventFor(0, 3)
			b.items[0].fence, b.items[0].body = fence, []byte(fence)
			if err := w.enqueue(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		l := w.lanes[laneOf(3)]
		<-l.wake
		l.work(t.Context())
		if len(log.stored) != 0 || w.partition(3).active {
			t.Errorf("%q were stored in a lost partition", log.stored)
		}
		time.Sleep(resendInterval)
		l.work(t.Context())
		if len(log.stored) != 0 {
			t.Errorf("%q were stored before the partition was acquired", log.stored)
		}
		if w.wakeOwners(w.queues.waiting()); len(l.wake) > 0 {
			t.Error("the lane was woken for a partition that it cannot post to, and would spin until it is acquired")
		}
		w.partition(3).active = true
		l.work(t.Context())
		if len(log.stored) != 2 || log.stored[0][len(log.stored[0])-1] != '1' || log.stored[1][len(log.stored[1])-1] != '2' {
			t.Errorf("%q were stored, want the first and the second event", log.stored)
		}
		if w.queues.bytes != 0 {
			t.Errorf("%d bytes still wait", w.queues.bytes)
		}
	})
}

// TestPeersThatAreGoneAreForgotten: a node that owns nothing any more is forgotten, and one that owns partitions is kept.
func TestPeersThatAreGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner atomic.Value
		owner.Store("gone")
		w := New(Deps{Node: "here", Directory: nowhere{}, Owner: func(uint16) string { return owner.Load().(string) }})
		ctx, cancel := context.WithCancel(t.Context())
		w.peers.start(ctx)
		done := make(chan struct{})
		go func() { defer close(done); w.resend(ctx) }()
		known := func() (nodes []string) {
			synctest.Wait()
			w.peers.mu.Lock()
			defer w.peers.mu.Unlock()
			return slices.Sorted(maps.Keys(w.peers.byNode))
		}
		w.peers.signal("gone")
		time.Sleep(forgetInterval)
		if got := known(); !slices.Equal(got, []string{"gone"}) {
			t.Errorf("while it owns partitions: got peers %q", got)
		}
		owner.Store("stays")
		w.peers.signal("stays")
		time.Sleep(forgetInterval)
		if got := known(); !slices.Equal(got, []string{"stays"}) {
			t.Errorf("after its partitions moved: got peers %q", got)
		}
		cancel()
		<-done
		w.peers.stop()
	})
}
