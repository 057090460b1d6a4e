// Package bulkhead divides slots among keys, such as the hosts of requests, so that slow keys leave slots for the others.
//
// A new key may use Config.First slots at once. Each quick use gives it one more, up to Config.Most. Keys whose last use was slow share a quarter
// of all slots. Those with work divide it evenly, so a single slow key gets several slots, and many slow keys still leave slots to the others.
// Each slow use halves the number that the key may use when it is quick again, down to less than that of a new key. New keys together may use half of all slots.
//
// All methods are safe for concurrent use, and do not block.
package bulkhead

import (
	"maps"
	"sync"
	"time"
)

const (
	// maxIdle bounds the keys that are kept without being used. One that is forgotten is new again.
	maxIdle = 1000
	// waitFor is for how long a slow key that got no slot counts as one that has work, unless it asks again.
	waitFor = 10 * time.Second
)

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

	mu      sync.Mutex // guards the fields below
	keys    map[K]*state
	used    [classes]int // slots in use, by the class that the key has now
	active  int          // slow keys that have work
	sweptAt time.Time    // keys that did not ask again
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
	used    int // slots
	share   int // slots that it may use, unless it is slow
	slow    bool
	waiting bool // it is slow, has no slot, and was refused one
	askedAt time.Time
}

// active reports whether a key divides the slots of the slow ones.
func (s *state) active() bool { return s.slow && (s.used > 0 || s.waiting) }

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

// share of the slots that a key may use.
func (b *Bulkhead[K]) share(s *state) int {
	if !s.slow {
		return s.share
	}
	n := b.active
	if !s.active() {
		n++
	}
	return min(max(b.limit(slow)/n, 1), b.config.Most)
}

// change changes a key that is kept, and counts it anew.
func (b *Bulkhead[K]) change(s *state, do func()) {
	was := s.active()
	b.used[b.classOf(s)] -= s.used
	do()
	b.used[b.classOf(s)] += s.used
	switch is := s.active(); {
	case is && !was:
		b.active++
	case was && !is:
		b.active--
	}
}

// sweep lets keys not count any more that were refused a slot and did not ask again.
func (b *Bulkhead[K]) sweep(now time.Time) {
	if now.Sub(b.sweptAt) < waitFor {
		return
	}
	b.sweptAt = now
	for _, s := range b.keys {
		if s.waiting && now.Sub(s.askedAt) >= waitFor {
			b.change(s, func() { s.waiting = false })
		}
	}
}

// TryAcquire takes a slot for a key, if the key may have another one. The caller calls Release or Cancel after that.
func (b *Bulkhead[K]) TryAcquire(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.sweep(now)
	s := b.keys[key]
	if s == nil {
		s = &state{share: b.config.First}
	}
	c, all := b.classOf(s), 0
	for _, n := range b.used {
		all += n
	}
	if all >= b.config.Slots || s.used >= b.share(s) || b.used[c] >= b.limit(c) {
		if s.slow && s.used == 0 {
			b.change(s, func() { s.waiting, s.askedAt = true, now })
		}
		return false
	}
	b.keys[key] = s
	b.change(s, func() {
		s.used++
		s.waiting = false
	})
	return true
}

// Release gives a slot back, and says whether its use was slow.
func (b *Bulkhead[K]) Release(key K, wasSlow bool) {
	b.release(key, func(s *state) {
		if s.slow = wasSlow; wasSlow {
			s.share = max(s.share/2, b.config.First-1, 1)
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
	b.change(s, func() {
		s.used--
		judge(s)
	})
	if len(b.keys) > maxIdle {
		maps.DeleteFunc(b.keys, func(_ K, s *state) bool {
			if s.used > 0 {
				return false
			}
			b.change(s, func() { s.waiting = false })
			return true
		})
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
