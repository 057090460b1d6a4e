// Package membus is the bus inside one process: Publish runs the subscribers' handlers, on the publisher's goroutine, so
// that nothing is queued or lost, and a slow handler slows its publisher.
package membus

import (
	"slices"
	"sync"
)

// Bus inside one process. The zero value is ready.
type Bus struct {
	mu   sync.RWMutex // guards subs; the subscribers' slices are replaced, never changed
	subs map[string][]*subscriber
}

type subscriber struct {
	mu     sync.Mutex // one message at a time
	handle func([]byte)
}

// New gives an empty bus.
func New() *Bus { return &Bus{subs: map[string][]*subscriber{}} }

// Publish runs the handlers of subject.
func (b *Bus) Publish(subject string, data []byte) error {
	b.mu.RLock()
	subs := b.subs[subject]
	b.mu.RUnlock()
	for _, s := range subs {
		s.mu.Lock()
		s.handle(data)
		s.mu.Unlock()
	}
	return nil
}

// Subscribe adds a handler.
func (b *Bus) Subscribe(subject string, handle func([]byte)) (func(), error) {
	s := &subscriber{handle: handle}
	b.mu.Lock()
	b.subs[subject] = append(slices.Clone(b.subs[subject]), s)
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		b.subs[subject] = slices.DeleteFunc(slices.Clone(b.subs[subject]), func(o *subscriber) bool { return o == s })
		b.mu.Unlock()
	}, nil
}

// Close drops all subscribers.
func (b *Bus) Close() error {
	b.mu.Lock()
	clear(b.subs)
	b.mu.Unlock()
	return nil
}
