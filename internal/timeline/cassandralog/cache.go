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
	most     int
}

type known struct {
	firsts []uint64
	state  state // version 0: not known
	// past counters of devices, in the segments below pastOf.
	past   map[device]uint64
	pastOf uint64
}

// of gives what is known of a key; the caller holds mu.
func (c *cache) of(k timeline.Key) *known {
	n := c.known[k]
	if n == nil {
		if len(c.known) >= c.most {
			for other := range c.known {
				if delete(c.known, other); len(c.known) <= c.most/2 {
					break
				}
			}
		}
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
	if len(c.counters) >= c.most {
		clear(c.counters)
	}
	c.counters[d] = max(c.counters[d], counter)
}

func (c *cache) past(k timeline.Key, segment uint64, d device) (highest uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.known[k]; n != nil && n.pastOf == segment {
		highest, ok = n.past[d]
	}
	return highest, ok
}

// pastDevices bounds the devices whose past counters are kept of a conversation.
const pastDevices = 1000

func (c *cache) setPast(k timeline.Key, segment uint64, d device, highest uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of(k)
	if n.pastOf != segment || len(n.past) >= pastDevices {
		n.past, n.pastOf = map[device]uint64{}, segment
	}
	n.past[d] = highest
}
