package fanout_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
)

// followers are places where it changes who follows what.
type followers struct {
	places
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

// TestOnlyNodesWithARecipientAreTold: what is in a large conversation goes to the nodes that follow it, and to those that are told to
// in the same round, before presence can know; what is for users, to where they are. No node gets anything else.
func TestOnlyNodesWithARecipientAreTold(t *testing.T) {
	s := newStage(t, inMemory)
	f := &followers{}
	s.where = f
	const c, small = 7, 8
	s.chat.of[c], s.chat.large[c] = []id.User{1, 4}, true
	s.chat.of[small] = []id.User{1, 5} // who are nowhere
	s.start()
	sent := uint64(0)
	send := func(payloads ...[]byte) {
		var done sync.WaitGroup
		done.Add(len(payloads))
		var list []*timeline.Append
		for _, p := range payloads {
			list = append(list, &timeline.Append{Key: conversation(c), Payload: p, Counts: true, Carry: true, Done: func(*timeline.Append) { done.Done() }})
		}
		s.log.Append(list...)
		done.Wait()
		for sent += uint64(len(list)); s.worker.Load().Carried() < sent; {
			runtime.Gosched()
		}
		s.settle()
	}
	told := func() map[string][]string {
		s.mu.Lock()
		defer s.mu.Unlock()
		list := map[string][]string{}
		for _, g := range s.got {
			list[g.node] = append(list[g.node], fmt.Sprint(g.Kind, "@", g.Seq, " ", g.Large))
			if len(g.Targets) == 0 && (g.Kind != message.DeliverEntry || !g.Large) {
				t.Errorf("%s was told of %d@%d for nobody", g.node, g.Kind, g.Seq)
			}
			for _, target := range g.Targets {
				if !slices.Contains(f.Locate(target.User), g.node) {
					t.Errorf("%s was told what is for %d", g.node, target.User)
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
		got := told()
		for node := range got {
			slices.SortFunc(got[node], func(a, b string) int { return strings.Compare(a[2:]+a, b[2:]+b) }) // lanes go side by side
		}
		if !maps.EqualFunc(got, step.want, slices.Equal) {
			t.Errorf("followed on %v: told %v, want %v", step.follow, got, step.want)
		}
	}
	var done sync.WaitGroup
	s.append(small, textEntry("for those who are nowhere"), &done)
	done.Wait()
	for s.worker.Load().Carried() <= sent {
		runtime.Gosched()
	}
	s.settle()
	if got := told(); len(got) != 0 {
		t.Errorf("told %v", got)
	}
	s.stop()
	must(t, s.log.Close())
}

// TestTakenIsTold: presence is told when a partition is this node's in the log as well, again when it is taken back from another,
// and not after the end.
func TestTakenIsTold(t *testing.T) {
	log := fenced{&fence{Log: memlog.New(nil)}, "n"}
	var taken [timeline.Partitions]atomic.Int64
	w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Presence: places{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler), Node: "n",
		Taken: func(p int) {
			log.mu.Lock()
			defer log.mu.Unlock()
			if log.taken[p] != "n" {
				t.Errorf("partition %d was not taken yet", p)
			}
			taken[p].Add(1)
		}})
	w.Begin(3)
	w.Begin(4)
	w.End(4)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for taken[3].Load() == 0 {
		runtime.Gosched()
	}
	other := fenced{log.fence, "other"}
	must(t, other.Take(ctx, 3))
	must(t, w.Notify(ctx, []fanout.Notice{{User: userOf(3), Body: []byte{1}}})) // it has to be taken back for that
	for taken[3].Load() < 2 {
		runtime.Gosched()
	}
	cancel()
	must(t, <-done)
	for p := range taken {
		if n := taken[p].Load(); n > 0 && p != 3 {
			t.Errorf("partition %d was taken %d times", p, n)
		}
	}
	must(t, log.Log.Close())
}

// userOf gives a user of a partition.
func userOf(partition uint16) id.User {
	for u := id.User(1); ; u++ {
		if inbox(u).Partition() == partition {
			return u
		}
	}
}
