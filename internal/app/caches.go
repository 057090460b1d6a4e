package app

import (
	"github.com/rialto-im/rialto/internal/platform/cache"
)

// caches is what all caches of the node share.
type caches struct {
	metrics       *cache.Metrics // also those of copies, from openEngines on
	shared        *cache.Shared  // nil: none is configured
	invalidations *cache.Invalidations
}

// openCaches makes what caches share. It opens no connection.
func (n *Node) openCaches() (err error) {
	n.caches = caches{metrics: n.caches.metrics, invalidations: cache.NewInvalidations(n.events)}
	if n.caches.shared, err = cache.OpenShared(n.config.Cache); err != nil || n.caches.shared == nil {
		return err
	}
	n.closers = append(n.closers, n.caches.shared.Close)
	return nil
}
