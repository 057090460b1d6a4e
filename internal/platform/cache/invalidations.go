package cache

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// eventKind is the kind of the events about changed rows. Other is the key, and Detail the name of the cache.
const eventKind = "cache"

// Invalidations brings the invalidations of all nodes to the caches of this one. It is complete before it is used: caches are added while the node
// is being made.
type Invalidations struct {
	events *clusterevent.Service
	caches map[string]invalidated
}

// invalidated is a cache of any type.
type invalidated interface {
	invalidateKey(key uint64)
	invalidateAll()
}

// NewInvalidations returns the invalidations by the events of all nodes.
func NewInvalidations(events *clusterevent.Service) *Invalidations {
	return &Invalidations{events: events, caches: map[string]invalidated{}}
}

// Register adds a cache. Each needs another name.
func Register[K ~uint64, V any](i *Invalidations, c *Cache[K, V]) error {
	if i.caches[c.config.Name] != nil {
		return fmt.Errorf("two caches have the name %s", c.config.Name)
	}
	i.caches[c.config.Name] = c
	return nil
}

// Add adds the invalidation of a key to the transaction that changes the row. After the commit, call Notify of the cluster events, and Invalidate
// of the cache.
func (i *Invalidations) Add(ctx context.Context, tx *sql.Tx, cache string, key uint64) error {
	return i.events.Add(ctx, tx, clusterevent.Event{Kind: eventKind, Other: key, Detail: cache})
}

// HandleEvent handles an event of any kind. It does not block.
func (i *Invalidations) HandleEvent(e clusterevent.Event) {
	if c := i.caches[e.Detail]; e.Kind == eventKind && c != nil {
		c.invalidateKey(e.Other)
	}
}

// Missed is called when this node may have missed events.
func (i *Invalidations) Missed() {
	for _, c := range i.caches {
		c.invalidateAll()
	}
}

func (c *Cache[K, V]) invalidateKey(key uint64) { c.invalidateLater(K(key)) }
