// Package bulkhead divides slots among keys, such as the hosts to which requests go, so that keys which are slow leave slots for the others.
//
// A key that is new may use Config.First slots at once. Each quick use lets it have one more, up to Config.Most, and each slow one halves what it may have.
// So that many keys leave slots, too, those whose last use was slow have a quarter of all slots together, and new ones have half.
//
// All methods are safe for concurrent use, and do not block.
package bulkhead

import (
	"maps"
	"sync"
)

// maxIdle bounds the keys that are kept without being used. One that is forgotten is new again.
const maxIdle = 1000

// Config of a Bulkhead.
type Config struct {
	// Slots that there are.
	Slots int
	// First is how many a new key may use at once, Most how many a key whose uses are quick.
	First, Most int
}

// Bulkhead divides slots among keys.
type Bulkhead[K comparable] struct {
	config Config

	mu   sync.Mutex // guards the fields below
	keys map[K]*state
	used [classes]int // slots in use, by the class that the key has now
}

// class of a key.
type class int

const (
	quick class = iota
	fresh       // new
	slow        // its last use was
	classes
)

type state struct {
	used  int // slots
	share int // slots that it may use
	slow  bool
}

// New creates a Bulkhead. What the configuration has too little of is 1.
func New[K comparable](config Config) *Bulkhead[K] {
	config.Slots, config.First = max(config.Slots, 1), max(config.First, 1)
	config.Most = max(config.Most, config.First)
	return &Bulkhead[K]{config: config, keys: map[K]*state{}}
}

func (b *Bulkhead[K]) classOf(s *state) class {
	switch {
	case s.slow:
		return slow
	case s.share <= b.config.First:
		return fresh
	}
	return quick
}

// limit of the slots that the keys of a class use together.
func (b *Bulkhead[K]) limit(c class) int {
	return max(b.config.Slots/[classes]int{1, 2, 4}[c], 1)
}

// TryAcquire takes a slot for a key, if the key may have another one. The caller calls Release or Cancel after that.
func (b *Bulkhead[K]) TryAcquire(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[key]
	if s == nil {
		s = &state{share: b.config.First}
	}
	c, all := b.classOf(s), 0
	for _, n := range b.used {
		all += n
	}
	if all >= b.config.Slots || s.used >= s.share || b.used[c] >= b.limit(c) {
		return false
	}
	s.used++
	b.used[c]++
	b.keys[key] = s
	return true
}

// Release gives a slot back, and says whether its use was slow.
func (b *Bulkhead[K]) Release(key K, wasSlow bool) {
	b.release(key, func(s *state) {
		if s.slow = wasSlow; wasSlow {
			s.share = max(s.share/2, 1)
		} else {
			s.share = min(s.share+1, b.config.Most)
		}
	})
}

// Cancel gives a slot back that was not used, which says nothing about the key.
func (b *Bulkhead[K]) Cancel(key K) { b.release(key, func(*state) {}) }

func (b *Bulkhead[K]) release(key K, judge func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[key]
	b.used[b.classOf(s)] -= s.used
	s.used--
	judge(s)
	b.used[b.classOf(s)] += s.used
	if len(b.keys) > maxIdle {
		maps.DeleteFunc(b.keys, func(_ K, s *state) bool { return s.used == 0 })
	}
}

// InUse returns how many slots a key uses.
func (b *Bulkhead[K]) InUse(key K) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.keys[key]; s != nil {
		return s.used
	}
	return 0
}
