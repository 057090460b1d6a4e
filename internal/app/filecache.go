package app

import (
	"context"
	"math"
	"strings"

	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// maxUncached groups wait to leave the cache of files. What is lost beyond them leaves a day later, since nobody may read it.
const maxUncached = 10_000

// rangeStore is a store whose files can be cached.
type rangeStore interface {
	blob.Store
	blob.RangeReader
}

// cachedStore is a store whose deleted files leave no copies on this node.
type cachedStore struct {
	rangeStore
	cache *blockcache.Cache
}

// Delete deletes a file, and then the copies of its group: whoever fetches it again finds that it is gone.
func (s cachedStore) Delete(ctx context.Context, key string) error {
	err := s.rangeStore.Delete(ctx, key)
	s.cache.RemoveGroup(fileGroup(key))
	return err
}

// fileGroup is the tag of what a file in the store belongs to; without one, it is its key.
func fileGroup(key string) string {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 3 {
		return key
	}
	number, _, _ := strings.Cut(parts[2], "-") // of media, with the number of an attempt
	switch parts[0] {
	case "media":
		return edge.FileTag(number)
	case "video":
		return edge.VideoTag(number)
	}
	return key
}

// withFileCache makes the cache in front of S3, if there is one.
func (n *Node) withFileCache(store rangeStore) (blob.Store, error) {
	if n.config.S3.Cache == 0 {
		return store, nil
	}
	var err error
	n.fileCache, err = blockcache.Open(blockcache.Config{Dir: n.dir.join(fileCacheDir), MaxBytes: int64(min(n.config.S3.Cache, math.MaxInt64))}, n.logger)
	if err != nil {
		return nil, err
	}
	n.uncached = wakeup.NewSet[string](maxUncached)
	n.closers = append(n.closers, n.fileCache.Close)
	return cachedStore{store, n.fileCache}, nil
}

// cachedFiles are the files as they are served, if they are cached.
func (n *Node) cachedFiles() files {
	if store, ok := n.files.(cachedStore); ok {
		return blockcache.Blobs{Cache: store.cache, Store: store, GroupOf: fileGroup}
	}
	return nil
}

type files interface {
	Open(ctx context.Context, key string, size int64) (*blockcache.Reader, error)
}

// uncache lets the files with a tag leave the cache soon. It does not block.
func (n *Node) uncache(tag string) {
	if n.uncached != nil {
		n.uncached.Add(tag)
	}
}

// runFileCache removes copies of what was deleted, until ctx ends.
func (n *Node) runFileCache(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.uncached.Woken():
			for _, tag := range n.uncached.Take() {
				n.fileCache.RemoveGroup(tag)
			}
		}
	}
}
