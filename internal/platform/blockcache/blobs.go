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
}

// Open opens a file, whose size the caller knows. It asks the store nothing.
func (b Blobs) Open(ctx context.Context, key string, size int64) (*Reader, error) {
	if size <= 0 || !blob.ValidKey(key) {
		return nil, blob.ErrNotFound
	}
	return b.Cache.NewReader(ctx, File{Group: key, Size: size}, func(ctx context.Context, offset, length int64) (io.ReadCloser, int64, error) {
		return b.Store.ReadRange(ctx, key, offset, length)
	}), nil
}
