package cassandralog

import (
	"sync"

	"github.com/rialto-im/rialto/internal/timeline"
)

// cachedKeys bounds what is known of keys.
const cachedKeys = 1 << 17

// cache has what was last seen of keys. All of it is checked by the store when it is used.
type cache struct {
	mu    sync.Mutex // guards all below
	known map[timeline.Key]*known
	// counters that devices are said to have.
	counters map[device]uint64
	// pasts are what devices had counted to in a key's segments.
	pasts map[countedIn]past
	// most of each of these maps.
	most int
}

type known struct {
	firsts []uint64
	state  state // version 0: not known
}

type countedIn struct {
	key    timeline.Key
	device device
}

type past struct {
	below   uint64 // the segments below this one
	highest uint64
}

func newCache(most int) cache {
	return cache{known: map[timeline.Key]*known{}, counters: map[device]uint64{}, pasts: map[countedIn]past{}, most: most}
}

// thin halves a map that is full.
func thin[K comparable, V any](m map[K]V, most int) {
	if len(m) < most {
		return
	}
	for k := range m {
		if delete(m, k); len(m) <= most/2 {
			return
		}
	}
}

// of gives what is known of a key; the caller holds mu.
func (c *cache) of(k timeline.Key) *known {
	n := c.known[k]
	if n == nil {
		thin(c.known, c.most)
		n = &known{}
		c.known[k] = n
	}
	return n
}

func (c *cache) firsts(k timeline.Key) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.known[k]; n != nil {
		return n.firsts
	}
	return nil
}

func (c *cache) setFirsts(k timeline.Key, firsts []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.of(k); len(firsts) > len(n.firsts) {
		n.firsts = firsts
	}
}

func (c *cache) state(k timeline.Key) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.known[k]; n != nil {
		return n.state
	}
	return state{}
}

func (c *cache) setState(k timeline.Key, s state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(k).state = s
}

func (c *cache) counter(d device) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counters[d]
}

func (c *cache) setCounter(d device, counter uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	thin(c.counters, c.most)
	c.counters[d] = max(c.counters[d], counter)
}

func (c *cache) past(k timeline.Key, segment uint64, d device) (highest uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pasts[countedIn{k, d}]
	return p.highest, ok && p.below == segment
}

func (c *cache) setPast(k timeline.Key, segment uint64, d device, highest uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	thin(c.pasts, c.most)
	c.pasts[countedIn{k, d}] = past{segment, highest}
}
