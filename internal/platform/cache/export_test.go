package cache

import "github.com/prometheus/client_golang/prometheus"

func valueOf(c prometheus.Counter) float64 {
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		panic(err)
	}
	return families[0].Metric[0].GetCounter().GetValue()
}

// Joined is how many reads have joined a load that was in progress.
func (c *Cache[K, V]) Joined() float64 { return valueOf(c.metrics.joined) }

// FromShared is how many reads were served by the shared server.
func (c *Cache[K, V]) FromShared() float64 { return valueOf(c.metrics.shared) }

// Owed is how many invalidations the server has not confirmed.
func (c *Cache[K, V]) Owed() int {
	c.owed.mu.Lock()
	defer c.owed.mu.Unlock()
	return len(c.owed.keys) + int(min(c.owed.all, 1))
}

// InvalidateLater handles the event of another node.
func (c *Cache[K, V]) InvalidateLater(keys ...K) { c.invalidateLater(keys...) }

// InvalidateAll is what happens when events were missed.
func (c *Cache[K, V]) InvalidateAll() { c.invalidateAll() }

// ForgetHere forgets the copies in this process, as an eviction does.
func (c *Cache[K, V]) ForgetHere(keys ...K) {
	for _, key := range keys {
		c.local.Invalidate(key)
		c.negative.Invalidate(key)
	}
}
