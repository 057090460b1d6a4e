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

	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
)

// fence is a store that many logs are on: who took a partition last posts to it.
type fence struct {
	timeline.Log
	mu    sync.Mutex // guards the rest, and is held over what depends on it
	taken [timeline.Partitions]string
	takes int
	hold  atomic.Pointer[func()] // called by who is about to post
}

// fenced is the store as one node has it.
type fenced struct {
	*fence
	node string
}

func (f fenced) Take(_ context.Context, p uint16) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken[p] = f.node
	f.takes++
	return nil
}

func (f fenced) Post(ctx context.Context, posts []timeline.Post) error {
	if hold := f.hold.Swap(nil); hold != nil {
		(*hold)()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range posts {
		if f.taken[posts[i].Key.Partition()] != f.node {
			return timeline.ErrTaken
		}
	}
	return f.Log.Post(ctx, posts)
}

func (f fenced) PutCheckpoint(ctx context.Context, p uint16, at uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken[p] != f.node {
		return timeline.ErrTaken
	}
	return f.Log.PutCheckpoint(ctx, p, at)
}

// workers of several nodes on one store. What each believes about who has what is its own.
type workers struct {
	*stage
	names   []string
	workers []*fanout.Worker
	shared  *fence
	held    []*[timeline.Partitions]atomic.Pointer[string]
	stops   []func()
	cut     atomic.Bool                                 // nodes reach none but themselves on the bus
	lasts   func(context.Context, string) (bool, error) // asked by all; nil: every turn lasts
}

func newWorkers(t *testing.T, n int) *workers {
	w := &workers{}
	var turn atomic.Uint64
	w.stage = newStage(t, func(timeline.Listener) timeline.Log {
		return memlog.New(func(c []timeline.Commit) { // as if any node had appended
			w.workers[turn.Add(1)%uint64(n)].Committed(c)
		})
	})
	shared := &fence{Log: w.log}
	w.shared = shared
	var lost atomic.Uint64
	for i := range n {
		name := fmt.Sprint("n", i)
		held := &[timeline.Partitions]atomic.Pointer[string]{}
		for p := range held {
			held[p].Store(new(string))
		}
		w.names, w.held = append(w.names, name), append(w.held, held)
		w.workers = append(w.workers, fanout.New(fanout.Deps{Log: fenced{shared, name}, Chat: w.chat, Presence: places{}, Bus: cutOff{&bustest.Lossy{Bus: w.bus, Lose: func() bool { return lost.Add(1)%7 == 3 }}, name, &w.cut},
			Logger: slog.New(slog.DiscardHandler), Node: name, Holder: func(p uint16) string { return *held[p].Load() },
			Nodes: func() []string {
				return slices.DeleteFunc(slices.Clone(w.names), func(n string) bool { return n == name })
			},
			Lasts: func(ctx context.Context, turn string) (bool, error) { return w.lasts(ctx, turn) }}))
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
	}
	return w
}

// move gives a partition to a node. The nodes learn of it in some order, and for a moment it may be nobody's to them.
func (w *workers) move(r *rand.Rand, p, to int) {
	for _, i := range r.Perm(len(w.names)) {
		if r.IntN(2) == 0 {
			w.held[i][p].Store(new(string))
			for range r.IntN(100) {
				runtime.Gosched()
			}
		}
		if i != to {
			w.workers[i].End(p)
		} else {
			w.workers[i].Begin(p)
		}
		w.held[i][p].Store(&w.names[to])
	}
}

// TestPartitionsMove: while messages are sent, partitions move among three nodes, and the bus loses some of what they tell each
// other. Each inbox gets everything, in order.
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
			over := make(chan struct{})
			writing.Go(func() {
				defer close(over)
				for i := range 40 {
					w.write(50*i, 50)
				}
			})
			for moving := true; moving; {
				select {
				case <-over:
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
	noneLeft(t)
}

// settleAll waits until no node has anything to carry, and each inbox has what it must: what was told and lost is read later.
func (w *workers) settleAll() {
	for {
		idle := !slices.ContainsFunc(w.workers, func(w *fanout.Worker) bool { return !w.Idle() })
		if idle && w.whole() {
			return
		}
		runtime.Gosched()
	}
}

// whole tells whether each member has as many different entries as their conversations have.
func (w *workers) whole() bool {
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
