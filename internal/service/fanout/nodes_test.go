package fanout_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/service/fanout"
)

// fence is a store shared by several nodes. Only the node that acquired a partition in the latest term may post to it.
type fence struct {
	timeline.Log
	mu           sync.Mutex // guards the rest; held across the check and the guarded call
	holders      [timeline.Partitions]string
	terms        [timeline.Partitions]uint64
	acquisitions int
	beforePost   atomic.Pointer[func()] // called before each post
}

// fenced is a node's view of the store.
type fenced struct {
	*fence
	node string
}

func (f fenced) Acquire(_ context.Context, p uint16, term uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.terms[p] > term || f.terms[p] == term && f.holders[p] != f.node {
		return &timeline.FencedError{Term: f.terms[p]}
	}
	f.holders[p], f.terms[p] = f.node, term
	f.acquisitions++
	return nil
}

func (f fenced) Post(ctx context.Context, posts []timeline.Post) error {
	if beforePost := f.beforePost.Swap(nil); beforePost != nil {
		(*beforePost)()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range posts {
		if f.holders[posts[i].Key.Partition()] != f.node {
			return timeline.ErrFenced
		}
	}
	return f.Log.Post(ctx, posts)
}

func (f fenced) PutCheckpoint(ctx context.Context, p uint16, at uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holders[p] != f.node {
		return timeline.ErrFenced
	}
	return f.Log.PutCheckpoint(ctx, p, at)
}

// workers of several nodes on one store. Each has its own view of the partition owners.
type workers struct {
	*stage
	names       []string
	workers     []*fanout.Worker
	shared      *fence
	views       []*[timeline.Partitions]atomic.Pointer[string]
	stops       []func()
	partitioned atomic.Bool                                 // each node reaches only itself on the bus
	isCurrent   func(context.Context, string) (bool, error) // called by all; nil: every fence is current
}

func newWorkers(t *testing.T, n int) *workers {
	w := &workers{}
	var next atomic.Uint64
	w.stage = newStage(t, func(timeline.Listener) timeline.Log {
		return memlog.New(func(c []timeline.Commit) { // as if the appends came from all nodes in turn
			w.workers[next.Add(1)%uint64(n)].Committed(c)
		})
	})
	shared := &fence{Log: w.log}
	w.shared = shared
	var lost atomic.Uint64
	for i := range n {
		name := fmt.Sprint("n", i)
		views := &[timeline.Partitions]atomic.Pointer[string]{}
		for p := range views {
			views[p].Store(new(string))
		}
		w.names, w.views = append(w.names, name), append(w.views, views)
		w.workers = append(w.workers, fanout.New(fanout.Deps{Log: fenced{shared, name}, Chat: w.chat, Directory: owners{}, Bus: partitionedBus{&bustest.Lossy{Bus: w.bus, Lose: func() bool { return lost.Add(1)%7 == 3 }}, name, &w.partitioned},
			Logger: slog.New(slog.DiscardHandler), Node: name, Owner: func(p uint16) string { return *views[p].Load() },
			IsCurrent: func(ctx context.Context, fence string) (bool, error) { return w.isCurrent(ctx, fence) }}))
	}
	for _, worker := range w.workers {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := worker.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		w.stops = append(w.stops, func() { cancel(); <-done })
		endsWith(t, cancel, done)
	}
	return w
}

// move gives a partition to a node. The nodes learn of it in random order, and some see it without an owner for a moment.
func (w *workers) move(r *rand.Rand, p, to int) {
	for _, i := range r.Perm(len(w.names)) {
		if r.IntN(2) == 0 {
			w.views[i][p].Store(new(string))
			for range r.IntN(100) {
				runtime.Gosched()
			}
		}
		if i != to {
			w.workers[i].Revoked(p)
		} else {
			assign(w.workers[i], p)
		}
		w.views[i][p].Store(&w.names[to])
	}
}

// TestPartitionsMove: while messages are sent, partitions move among three nodes, and the bus loses some of their messages. Each inbox gets
// everything, in order.
func TestPartitionsMove(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorkers(t, 3)
			w.someConversations()
			r := rand.New(rand.NewPCG(seed, 5))
			for p := range timeline.Partitions {
				w.move(r, p, r.IntN(3))
			}
			var writing sync.WaitGroup
			written := make(chan struct{})
			writing.Go(func() {
				defer close(written)
				for i := range 40 {
					w.write(50*i, 50)
				}
			})
			for moving := true; moving; {
				select {
				case <-written:
					moving = false
				default:
					w.move(r, r.IntN(timeline.Partitions), r.IntN(3))
				}
			}
			writing.Wait()
			w.settleAll()
			w.check(true)
			for _, stop := range w.stops {
				stop()
			}
			must(t, w.log.Close())
		})
	}
	noGoroutines(t)
}

// settleAll waits until no node has anything to dispatch, and each inbox is complete: lost announcements are recovered from the log.
func (w *workers) settleAll() {
	eventually.True(w.t, "every inbox is complete", func() bool {
		return !slices.ContainsFunc(w.workers, func(w *fanout.Worker) bool { return !w.Idle() }) && w.complete()
	})
}

// complete reports whether each member has as many different entries as their conversations have.
func (w *workers) complete() bool {
	ctx := context.Background()
	for u := range uint64(13) {
		entries, err := w.log.Read(ctx, timeline.Key{Kind: timeline.Inbox, ID: u}, 0, 1<<20)
		must(w.t, err)
		type place struct{ c, seq uint64 }
		got := map[place]bool{}
		for _, e := range entries {
			c, seq, _, err := message.DecodeInbox(e.Payload)
			must(w.t, err)
			got[place{uint64(c), seq}] = true
		}
		want := 0
		for c, users := range w.chat.of {
			for _, m := range users {
				if uint64(m) == u {
					tail, err := w.log.Tail(ctx, conversation(c))
					must(w.t, err)
					want += int(tail.Seq)
				}
			}
		}
		if len(got) < want {
			return false
		}
	}
	return true
}
