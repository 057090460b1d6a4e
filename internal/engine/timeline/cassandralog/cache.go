package cassandralog

import (
	"sync"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// cachedKeys is the maximum number of cached keys.
const cachedKeys = 1 << 17

// cache has the last known state of keys. The store checks all of it when it is used.
type cache struct {
	mu   sync.Mutex // guards the fields below
	keys map[timeline.Key]*keyCache
	// counters are the devices' counters that were written to the table devices.
	counters map[device]uint64
	// pasts are the devices' highest counters in the sealed segments of a key.
	pasts map[countedIn]past
	// maxKeys is the maximum size of each of these maps.
	maxKeys int
}

type keyCache struct {
	firsts []uint64
	state  state // version 0: unknown
}

type countedIn struct {
	key    timeline.Key
	device device
}

type past struct {
	below   uint64 // of the segments below this one
	highest uint64
}

func newCache(most int) cache {
	return cache{keys: map[timeline.Key]*keyCache{}, counters: map[device]uint64{}, pasts: map[countedIn]past{}, maxKeys: most}
}

// entry returns the cached state of a key; the caller holds mu.
func (c *cache) entry(k timeline.Key) *keyCache {
	n := c.keys[k]
	if n == nil {
		timeline.EvictHalf(c.keys, c.maxKeys)
		n = &keyCache{}
		c.keys[k] = n
	}
	return n
}

func (c *cache) firsts(k timeline.Key) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.keys[k]; n != nil {
		return n.firsts
	}
	return nil
}

func (c *cache) setFirsts(k timeline.Key, firsts []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.entry(k); len(firsts) > len(n.firsts) {
		n.firsts = firsts
	}
}

func (c *cache) state(k timeline.Key) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.keys[k]; n != nil {
		return n.state
	}
	return state{}
}

func (c *cache) setState(k timeline.Key, s state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entry(k).state = s
}

func (c *cache) counter(d device) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counters[d]
}

func (c *cache) setCounter(d device, counter uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	timeline.EvictHalf(c.counters, c.maxKeys)
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
	timeline.EvictHalf(c.pasts, c.maxKeys)
	c.pasts[countedIn{k, d}] = past{segment, highest}
}
