package blockcache

import (
	"context"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// Blobs reads the files of a store through a cache. The keys of its files are never used again for other bytes.
type Blobs struct {
	Cache *Cache
	Store blob.RangeReader
	// GroupOf returns the group of a key; nil: each is one.
	GroupOf func(key string) string
}

// Open opens a file, whose size the caller knows, and which may be read. It asks the store nothing.
func (b Blobs) Open(ctx context.Context, key string, size int64) (*Reader, error) {
	if size <= 0 || !blob.ValidKey(key) {
		return nil, blob.ErrNotFound
	}
	group := key
	if b.GroupOf != nil {
		group = b.GroupOf(key)
	}
	b.Cache.Confirm(group)
	return b.Cache.NewReader(ctx, File{Group: group, Name: key, Size: size}, func(ctx context.Context, offset, length int64) (io.ReadCloser, int64, error) {
		return b.Store.ReadRange(ctx, key, offset, length)
	}), nil
}
