package indexprocess

import (
	"context"
	"maps"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// An index without documents has at most checkpoints. They are in memory until the first document, and lost with this process: then the index is built again, of
// nothing. So a server that has nothing to find has no second process.

// maxDeferred bounds the checkpoints in memory. With more, the process starts.
const maxDeferred = 10_000

// deferApply keeps the checkpoints of a batch without documents in memory. ok: that is all that the batch needs. Otherwise, the process has the checkpoints from now on.
func (i *Index) deferApply(ctx context.Context, b *searchindex.Batch) (ok bool, err error) {
	i.deferMu.Lock()
	defer i.deferMu.Unlock()
	points := i.deferred.Load()
	if points == nil {
		return false, nil
	}
	if err := i.check(ctx); err != nil {
		return false, err
	}
	if len(b.Put) == 0 && len(*points)+len(b.Checkpoints) <= maxDeferred {
		next := maps.Clone(*points) // others read it
		maps.Copy(next, b.Checkpoints)
		i.deferred.Store(&next)
		return true, nil
	}
	if _, err := i.call(ctx, applyFrame, &searchindex.Batch{Checkpoints: *points}); err != nil {
		return false, err
	}
	i.deferred.Store(nil)
	return false, nil
}
