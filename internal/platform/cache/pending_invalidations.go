package cache

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// maxOwed bounds the keys of which the server must be told. Beyond, it forgets all copies.
const maxOwed = 10_000

// owed has the invalidations that the server has not confirmed. Its copies of these keys are not used.
type owed[K ~uint64] struct {
	wake chan struct{}

	mu    sync.Mutex   // guards the fields below
	keys  map[K]uint64 // with the number of the latest invalidation of each
	all   uint64       // number of the latest invalidation of all keys; 0: none is owed
	count uint64
}

// debt is what one attempt tells the server.
type debt[K ~uint64] struct {
	keys map[K]uint64
	all  uint64
}

func newOwed[K ~uint64]() owed[K] {
	return owed[K]{wake: make(chan struct{}, 1), keys: map[K]uint64{}}
}

func (o *owed[K]) signal() { wakeup.Signal(o.wake) }

// add adds invalidations, and returns them.
func (o *owed[K]) add(keys []K) debt[K] {
	o.mu.Lock()
	defer o.mu.Unlock()
	added := debt[K]{keys: make(map[K]uint64, len(keys))}
	o.count++
	for _, key := range keys {
		o.keys[key], added.keys[key] = o.count, o.count
	}
	if len(o.keys) > maxOwed {
		o.all, added.all = o.count, o.count
	}
	return added
}

// addAll adds the invalidation of all keys.
func (o *owed[K]) addAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	o.all = o.count
}

// some returns up to n invalidations that are owed.
func (o *owed[K]) some(n int) debt[K] {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := debt[K]{keys: make(map[K]uint64, min(n, len(o.keys))), all: o.all}
	for key, number := range o.keys {
		if len(d.keys) == n {
			break
		}
		d.keys[key] = number
	}
	return d
}

// paid removes what the server was told, unless it was invalidated again meanwhile.
func (o *owed[K]) paid(d debt[K]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, number := range o.keys {
		if number <= d.all || d.keys[key] == number {
			delete(o.keys, key)
		}
	}
	if o.all <= d.all {
		o.all = 0
	}
}

// which reports which of some keys are owed.
func (o *owed[K]) which(keys []K) map[K]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	some := map[K]bool{}
	for _, key := range keys {
		if _, ok := o.keys[key]; ok || o.all > 0 {
			some[key] = true
		}
	}
	return some
}

// pay tells the server of invalidations, and reports whether it has confirmed.
func (c *Cache[K, V]) pay(ctx context.Context, d debt[K]) bool {
	if len(d.keys) == 0 && d.all == 0 {
		return true
	}
	keys := make([]uint64, 0, len(d.keys))
	for key := range d.keys {
		keys = append(keys, uint64(key))
	}
	if err := c.deps.Shared.invalidate(ctx, c.config.Name, keys, d.all > 0); err != nil {
		c.metrics.sharedFailed.Inc()
		c.owed.signal()
		return false
	}
	c.owed.paid(d)
	return true
}

// payOwed tells the server of what is owed, until ctx ends.
func (c *Cache[K, V]) payOwed(ctx context.Context) {
	retry := backoff.New(10*time.Millisecond, time.Second)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.owed.wake:
		}
		for {
			d := c.owed.some(maxLoad)
			if len(d.keys) == 0 && d.all == 0 {
				retry.Reset()
				break
			}
			if !c.pay(ctx, d) && retry.Wait(ctx) != nil {
				return
			}
		}
	}
}
