package gateway

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

// maxQueuedLarge bounds the bytes of the deliveries that wait in a large lane. The deliveries behind them wait in the bus.
const maxQueuedLarge = 4 << 20

// largeLane delivers what is for the followers of large conversations, in a goroutine of its own, in the order in which it came by one lane of the bus. A push to
// 10,000 connections takes milliseconds, for which what is for one user would wait otherwise.
//
// It goes on when what it has pushed before is written, or nearly. So what comes meanwhile is pushed together, no connection has many bytes waiting because
// of the processor, and what waits for long is late (hot_conversations.go).
type largeLane struct {
	deliverer deliverer
	wake      chan struct{}

	mu      sync.Mutex // guards the fields below
	notFull *sync.Cond // the queue was taken, or closed
	queued  []byte     // deliveries
	closed  bool       // nothing is delivered any more
}

func newLargeLane(s *Server) *largeLane {
	l := &largeLane{deliverer: deliverer{server: s, span: "gateway.push", yield: (&pollYielder{byPoller: s.deps.Yield}).yield}, wake: make(chan struct{}, 1)}
	l.notFull = sync.NewCond(&l.mu)
	return l
}

// add queues a delivery, and waits while too many are queued.
func (l *largeLane) add(delivery []byte) {
	l.mu.Lock()
	for len(l.queued) > maxQueuedLarge && !l.closed {
		l.notFull.Wait()
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

// take returns what is queued, and leaves a buffer for what comes next.
func (l *largeLane) take(buffer []byte) []byte {
	if cap(buffer) > maxQueuedLarge/4 {
		buffer = nil // of a storm
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.queued
	l.queued = buffer[:0]
	l.notFull.Broadcast()
	return taken
}

func (l *largeLane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.queued = true, nil
	l.notFull.Broadcast()
}

// subscribe receives the deliveries to this node, and returns what delivers those to followers, and functions that end the subscriptions. If it fails,
// it leaves none.
func (s *Server) subscribe() (lanes []*largeLane, cancels []func(), err error) {
	for n := range bus.Lanes {
		large := newLargeLane(s)
		d := &deliverer{server: s, span: "bus.receive", large: large}
		cancel, err := s.deps.Bus.Subscribe(bus.Node(s.deps.Node, n), d.deliver, s.reconciler.requestAll)
		if err != nil {
			for _, l := range lanes { // nobody runs them: a handler that waits for one goes on
				l.close()
			}
			for _, cancel := range cancels {
				cancel()
			}
			return nil, nil, err
		}
		lanes, cancels = append(lanes, large), append(cancels, cancel)
	}
	return lanes, cancels, nil
}
