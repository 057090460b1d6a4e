package coldtier

import (
	"container/list"
	"sync"
)

// blockKey names a block of a segment, or its index (block -1).
type blockKey struct {
	file  string
	block int
}

type cached struct {
	key     blockKey
	index   *index
	payload []byte
	size    int
}

// blockCache has the blocks and indexes that were read last. Segments never change, so an entry is never stale.
type blockCache struct {
	limit int // in bytes

	mu    sync.Mutex // guards all below
	size  int
	order *list.List // of *cached, the most recently used first
	items map[blockKey]*list.Element
}

func newBlockCache(limit int) *blockCache {
	return &blockCache{limit: limit, order: list.New(), items: map[blockKey]*list.Element{}}
}

func (c *blockCache) get(key blockKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached)
}

func (c *blockCache) put(v *cached) {
	v.size = 256 + len(v.key.file) + len(v.payload) // about what the entry itself needs
	if v.index != nil {
		v.size += 12*len(v.index.lengths) + 24*len(v.index.blocks)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items[v.key] != nil || v.size > c.limit {
		return
	}
	c.items[v.key] = c.order.PushFront(v)
	for c.size += v.size; c.size > c.limit; {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.items, oldest.key)
		c.size -= oldest.size
	}
}

// bytes returns the bytes in the cache.
func (c *blockCache) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
