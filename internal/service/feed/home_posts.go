package feed

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
)

// HomePosts returns the ids of at most n of the newest posts of others in a reader's home timeline, as of a transaction: whether the reader may see them is checked
// when they are shown. Call done after the transaction: it keeps the reader's window in order, as a page of the timeline does.
func (s *Service) HomePosts(ctx context.Context, tx *sql.Tx, reader id.User, n int) (list []uint64, done func(ctx context.Context), err error) {
	h, err := s.openHome(ctx, tx, reader)
	if err != nil {
		return nil, nil, err
	}
	h.own = nil
	for before := uint64(math.MaxInt64); before != 0 && len(list) < n; {
		some, next, err := h.source(ctx, before, n-len(list))
		if err != nil {
			return nil, nil, err
		}
		list, before = append(list, some...), next
	}
	return list, func(ctx context.Context) { s.maintain(ctx, reader, h) }, nil
}
