package wakeup

import "sync"

// Set gathers keys for a goroutine that takes all of them at once. It is bounded: what is added to a full set is lost, so that the goroutine also
// needs another way to find it. All methods are safe for concurrent use, and do not block.
type Set[K comparable] struct {
	limit int
	wake  chan struct{}

	mu   sync.Mutex // guards keys
	keys map[K]struct{}
}

// NewSet creates a set of at most limit keys.
func NewSet[K comparable](limit int) *Set[K] {
	return &Set[K]{limit: limit, wake: make(chan struct{}, 1), keys: map[K]struct{}{}}
}

// Add adds keys, as far as there is room, and wakes the goroutine.
func (s *Set[K]) Add(keys ...K) {
	s.mu.Lock()
	for _, k := range keys {
		if len(s.keys) < s.limit {
			s.keys[k] = struct{}{}
		}
	}
	s.mu.Unlock()
	Signal(s.wake)
}

// Take returns the keys, in no order, and empties the set.
func (s *Set[K]) Take() []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]K, 0, len(s.keys))
	for k := range s.keys {
		keys = append(keys, k)
	}
	clear(s.keys)
	return keys
}

// Signal wakes the goroutine although nothing was added.
func (s *Set[K]) Signal() { Signal(s.wake) }

// Woken is the channel on which the goroutine waits.
func (s *Set[K]) Woken() <-chan struct{} { return s.wake }
