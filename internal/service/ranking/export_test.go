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

// Near returns how many posts have vectors.
func (s *Service) Near() int { return s.near.index.Len() }

// MaxNear replaces how many posts have vectors at most.
func (s *Service) MaxNear(most int) (err error) {
	s.near, err = newNeighbours(most)
	s.facts.near = s.near
	return err
}

// WaitingImpressions returns how many pages of the log are not written yet.
func (s *Service) WaitingImpressions() int {
	s.impressions.mu.Lock()
	defer s.impressions.mu.Unlock()
	return len(s.impressions.waiting)
}

// ForgetModel forgets the model in use, as another node does.
func (s *Service) ForgetModel() { s.models.cached.Store(nil) }

// MaxModels is how many models are kept.
const MaxModels = maxModels
