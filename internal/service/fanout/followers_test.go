package fanout_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/fanout"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// followers is a directory whose followers change.
type followers struct {
	owners
	mu   sync.Mutex // guards list
	list []string
}

func (f *followers) set(list ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
}

func (f *followers) Followers(id.Conversation) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}

// TestOnlyNodesWithARecipientGetDeliveries: entries of a large conversation go to the nodes that follow it, and to nodes that start to
// follow it in the same round, before presence knows. Deliveries to users go to their nodes. No node gets anything else.
func TestOnlyNodesWithARecipientGetDeliveries(t *testing.T) {
	s := newStage(t, inMemory)
	f := &followers{}
	s.where = f
	const c, small = 7, 8
	s.chat.of[c], s.chat.large[c] = []id.User{1, 4}, true
	s.chat.of[small] = []id.User{1, 5} // who are not connected
	s.start()
	sent := uint64(0)
	send := func(payloads ...[]byte) {
		var done sync.WaitGroup
		done.Add(len(payloads))
		var list []*timeline.AppendRequest
		for _, p := range payloads {
			list = append(list, &timeline.AppendRequest{Key: conversation(c), Payload: p, Counts: true, NeedsFanout: true, Done: func(*timeline.AppendRequest) { done.Done() }})
		}
		s.log.Append(list...)
		done.Wait()
		sent += uint64(len(list))
		eventually.True(s.t, "the entries are dispatched", func() bool { return s.worker.Load().Dispatched() >= sent })
		s.settle()
	}
	deliveries := func() map[string][]string {
		s.mu.Lock()
		defer s.mu.Unlock()
		list := map[string][]string{}
		for _, g := range s.got {
			list[g.node] = append(list[g.node], fmt.Sprint(g.Kind, "@", g.Seq, " ", g.Large))
			if len(g.Targets) == 0 && (g.Kind != message.DeliverEntry || !g.Large) {
				t.Errorf("%s got %d@%d without recipients", g.node, g.Kind, g.Seq)
			}
			for _, target := range g.Targets {
				if !slices.Contains(f.Locate(target.User), g.node) {
					t.Errorf("%s got a delivery for user %d", g.node, target.User)
				}
			}
		}
		s.got = nil
		return list
	}
	for _, step := range []struct {
		follow []string
		send   [][]byte
		want   map[string][]string
	}{
		{nil, [][]byte{textEntry("one")}, map[string][]string{}},
		{[]string{"b"}, [][]byte{textEntry("two")}, map[string][]string{"b": {"1@2 true"}}},
		{[]string{"b"}, [][]byte{controlEntry(t, chatv1.Control_ACTION_JOINED, 4), textEntry("four")}, map[string][]string{
			"a": {"1@3 false", "4@3 false", "1@4 true"}, "b": {"1@3 true", "1@4 true"}}},
		{[]string{"b"}, [][]byte{textEntry("five")}, map[string][]string{"b": {"1@5 true"}}},
	} {
		f.set(step.follow...)
		send(step.send...)
		got := deliveries()
		for node := range got {
			slices.SortFunc(got[node], func(a, b string) int { return strings.Compare(a[2:]+a, b[2:]+b) }) // lanes are not ordered among each other
		}
		if !maps.EqualFunc(got, step.want, slices.Equal) {
			t.Errorf("followed on %v: delivered %v, want %v", step.follow, got, step.want)
		}
	}
	var done sync.WaitGroup
	s.append(small, textEntry("for users who are not connected"), &done)
	done.Wait()
	eventually.True(t, "the entry is dispatched", func() bool { return s.worker.Load().Dispatched() > sent })
	s.settle()
	if got := deliveries(); len(got) != 0 {
		t.Errorf("delivered %v", got)
	}
	s.stop()
	must(t, s.log.Close())
}

// TestAcquiredPartitionsAreReported: Acquired is called after a partition is acquired in the log, again after it is reacquired from another
// node, and not after the worker has ended.
func TestAcquiredPartitionsAreReported(t *testing.T) {
	log := fenced{&fence{Log: memlog.New(nil)}, "n"}
	var acquired [timeline.Partitions]atomic.Int64
	w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Directory: owners{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler), Node: "n",
		Acquired: func(g cluster.Grant) {
			p := g.Part
			log.mu.Lock()
			defer log.mu.Unlock()
			if log.holders[p] != "n" {
				t.Errorf("partition %d was reported before it was acquired", p)
			}
			acquired[p].Add(1)
		}})
	grant := cluster.NewGrant(t.Context(), 3, terms.Add(1))
	w.Assigned(grant)
	assign(w, 4)
	w.Revoked(4)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	eventually.True(t, "the partition is acquired", func() bool { return acquired[3].Load() > 0 })
	other := fenced{log.fence, "other"}
	later := terms.Add(1)
	must(t, other.Acquire(ctx, 3, later))
	within, giveUp := context.WithTimeout(ctx, eventually.Timeout)
	defer giveUp()
	notified := make(chan error, 1)
	go func() { notified <- w.Notify(within, []fanout.Notice{{User: userOf(3), Body: []byte{1}}}) }() // needs the partition to be reacquired
	eventually.True(t, "the grant has seen the later term", func() bool { return grant.Latest() == later })
	if n := acquired[3].Load(); n != 1 {
		t.Errorf("the partition was acquired %d times in one term", n)
	}
	w.Revoked(3)
	assign(w, 3)
	must(t, <-notified)
	eventually.True(t, "the partition is reacquired", func() bool { return acquired[3].Load() >= 2 })
	cancel()
	must(t, eventually.Receive(t, "the worker ends", done))
	for p := range acquired {
		if n := acquired[p].Load(); n > 0 && p != 3 {
			t.Errorf("partition %d was acquired %d times", p, n)
		}
	}
	must(t, log.Log.Close())
}

// userOf returns a user of a partition.
func userOf(partition uint16) id.User {
	for u := id.User(1); ; u++ {
		if inbox(u).Partition() == partition {
			return u
		}
	}
}

// A transient frame for a large conversation goes to the nodes that follow it, once to each, and stores nothing.
func TestATransientFrameOfALargeConversation(t *testing.T) {
	s := newStage(t, inMemory)
	f := &followers{}
	s.where = f
	f.set("b")
	s.start()
	s.worker.Load().TransientLarge(7, []byte("a part"))
	eventually.True(t, "the frame is delivered", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.got) > 0
	})
	s.stop()
	if len(s.got) != 1 || s.got[0].node != "b" || s.got[0].Kind != message.DeliverFrame || !s.got[0].Large || s.got[0].Conversation != 7 || string(s.got[0].Body) != "a part" {
		t.Errorf("delivered: %+v", s.got)
	}
}
