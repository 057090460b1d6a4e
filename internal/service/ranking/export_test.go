package ranking

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Candidates returns how many candidates a reader has.
func (s *Service) Candidates(ctx context.Context, reader id.User) (n int, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		r, err := s.read(ctx, tx, reader, s.nowMs())
		if err == nil {
			n = len(r.candidates)
		}
		return err
	})
	return n, err
}

// Forget forgets the facts of all posts.
func (s *Service) Forget() { s.facts.cache.InvalidateAll() }
