package linkpreview

import (
	"container/list"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// cache keeps the values that were used last, up to a number and a total cost, each for a time.
type cache[K comparable, V any] struct {
	clock             clock.Clock
	maxCount, maxCost int

	mu    sync.Mutex // guards all below
	items map[K]*list.Element
	order *list.List // of *cached; the last used in front
	cost  int
}

type cached[K comparable, V any] struct {
	key   K
	value V
	cost  int
	ends  time.Time
}

func newCache[K comparable, V any](c clock.Clock, maxCount, maxCost int) *cache[K, V] {
	return &cache[K, V]{clock: c, maxCount: maxCount, maxCost: maxCost, items: map[K]*list.Element{}, order: list.New()}
}

func (c *cache[K, V]) get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[k]
	if e == nil {
		return v, false
	}
	item := e.Value.(*cached[K, V])
	if !c.clock.Now().Before(item.ends) {
		c.remove(e)
		return v, false
	}
	c.order.MoveToFront(e)
	return item.value, true
}

// put adds a value, and evicts those that were not used for longest.
func (c *cache[K, V]) put(k K, v V, cost int, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[k]; e != nil {
		c.remove(e)
	}
	c.items[k] = c.order.PushFront(&cached[K, V]{k, v, cost, c.clock.Now().Add(age)})
	c.cost += cost
	for len(c.items) > c.maxCount || c.cost > c.maxCost {
		c.remove(c.order.Back())
	}
}

func (c *cache[K, V]) remove(e *list.Element) {
	item := c.order.Remove(e).(*cached[K, V])
	delete(c.items, item.key)
	c.cost -= item.cost
}
