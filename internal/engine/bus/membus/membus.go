// Package membus is the bus inside one process. Publish runs the subscribers' handlers on the publisher's goroutine, so nothing is queued
// or lost, and a slow handler slows its publisher. Subscribers never miss messages.
package membus

import (
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// Bus inside one process.
type Bus struct {
	mu         sync.RWMutex // guards the maps; their slices are replaced, never changed
	subs       map[string][]*subscriber
	responders map[string][]*responder
	closed     bool

	working sync.WaitGroup // requests in progress; started under mu while not closed
}

type subscriber struct {
	mu     sync.Mutex // one message at a time
	handle func([]byte)
}

// New returns an empty bus.
func New() *Bus {
	return &Bus{subs: map[string][]*subscriber{}, responders: map[string][]*responder{}}
}

// Publish runs the handlers of subject.
func (b *Bus) Publish(subject string, data []byte) error {
	if err := bus.Check(subject, data); err != nil {
		return err
	}
	b.mu.RLock()
	subs, closed := b.subs[subject], b.closed
	b.mu.RUnlock()
	if closed {
		return bus.ErrClosed
	}
	for _, s := range subs {
		s.mu.Lock()
		s.handle(data)
		s.mu.Unlock()
	}
	return nil
}

// Subscribe adds a handler.
func (b *Bus) Subscribe(subject string, handle func([]byte), _ func()) (func(), error) {
	s := &subscriber{handle: handle}
	return add(b, b.subs, subject, s)
}

// add appends to the subject's list, and returns a function that removes the element.
func add[T any](b *Bus, lists map[string][]*T, subject string, one *T) (func(), error) {
	if err := bus.Check(subject, nil); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, bus.ErrClosed
	}
	lists[subject] = append(slices.Clone(lists[subject]), one)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		lists[subject] = slices.DeleteFunc(slices.Clone(lists[subject]), func(o *T) bool { return o == one })
		if len(lists[subject]) == 0 {
			delete(lists, subject)
		}
	}, nil
}

// Close drops all subscribers and responders, and waits for requests in progress.
func (b *Bus) Close() error {
	b.mu.Lock()
	b.closed = true
	clear(b.subs)
	clear(b.responders)
	b.mu.Unlock()
	b.working.Wait()
	return nil
}
