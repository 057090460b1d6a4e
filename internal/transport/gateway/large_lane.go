package gateway

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

// maxQueuedLarge bounds the bytes of the deliveries that wait in a large lane. Further deliveries wait in the bus.
const maxQueuedLarge = 4 << 20

// largeLane delivers entries to the followers of large conversations, in a goroutine of its own, in the order of one lane of the bus. A push to
// 10,000 connections takes milliseconds. Without the lane, deliveries to single users would wait for it.
//
// The lane continues when its previous pushes have been written, or nearly. So entries that arrive meanwhile are pushed together, a busy processor does not
// make many bytes wait at a connection, and entries that wait for long count as late (hot_conversations.go).
type largeLane struct {
	deliverer deliverer
	wake      chan struct{}

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond // the queue was taken or closed, or what was taken was delivered
	queued  []byte     // deliveries
	taken   uint64     // how often the queue was taken
	ended   uint64     // how often what was taken was delivered
	closed  bool       // nothing is delivered any more
}

func newLargeLane(s *Server) *largeLane {
	l := &largeLane{deliverer: deliverer{server: s, span: "gateway.push", yield: (&pollYielder{byPoller: s.deps.Yield}).yield}, wake: make(chan struct{}, 1)}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// add queues a delivery, and waits while too many are queued.
func (l *largeLane) add(delivery []byte) {
	l.mu.Lock()
	for len(l.queued) > maxQueuedLarge && !l.closed {
		l.changed.Wait()
	}
	if !l.closed {
		l.queued = append(l.queued, delivery...)
	}
	l.mu.Unlock()
	wakeup.Signal(l.wake)
}

// run delivers until ctx ends.
func (l *largeLane) run(ctx context.Context) {
	defer l.close()
	var taken []byte
	for {
		if taken = l.take(taken); len(taken) > 0 {
			l.deliverer.deliver(taken)
			l.noteDelivered()
			for _, f := range l.deliverer.server.flush {
				f.awaitLater()
			}
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the queued deliveries, and leaves a buffer for the next ones.
func (l *largeLane) take(buffer []byte) []byte {
	if cap(buffer) > maxQueuedLarge/4 {
		buffer = nil // it has grown in a storm
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.queued
	l.queued = buffer[:0]
	if len(taken) > 0 {
		l.taken++
	}
	l.changed.Broadcast()
	return taken
}

func (l *largeLane) noteDelivered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.taken
	l.changed.Broadcast()
}

// awaitQueued returns when what is queued now has been pushed, or the lane is closed.
func (l *largeLane) awaitQueued(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})()
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.taken
	if len(l.queued) > 0 {
		last++
	}
	for l.ended < last && !l.closed {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.changed.Wait()
	}
	return nil
}

func (l *largeLane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.queued = true, nil
	l.changed.Broadcast()
}

// AwaitPushes returns when what this node has for the followers of large conversations is pushed: chat acknowledges an edit or a recall after the last push of
// the text from before it.
func (s *Server) AwaitPushes(ctx context.Context) error {
	lanes := s.lanes.Load()
	if lanes == nil { // the server does not run
		return nil
	}
	for _, l := range *lanes {
		if err := l.awaitQueued(ctx); err != nil {
			return err
		}
	}
	return nil
}

// subscribe subscribes to the deliveries to this node. It returns the lanes for followers of large conversations, and functions that end the subscriptions. If it fails,
// it leaves no subscription.
func (s *Server) subscribe() (lanes []*largeLane, cancels []func(), err error) {
	for n := range bus.Lanes {
		large := newLargeLane(s)
		d := &deliverer{server: s, span: "bus.receive", large: large}
		cancel, err := s.deps.Bus.Subscribe(bus.Node(s.deps.Node, n), d.deliver, s.reconciler.requestAll)
		if err != nil {
			for _, l := range lanes { // nobody runs them: a handler that waits for one must continue
				l.close()
			}
			for _, cancel := range cancels {
				cancel()
			}
			return nil, nil, err
		}
		lanes, cancels = append(lanes, large), append(cancels, cancel)
	}
	s.lanes.Store(&lanes)
	return lanes, cancels, nil
}
