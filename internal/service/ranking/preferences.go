package ranking

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Preferences returns how much some posts are like those which a reader liked or commented on lately, from 0 to 1, by text, author and kind, as of a transaction. Posts that are not like them
// are absent, and so are all for a reader who has turned personalization off.
func (s *Service) Preferences(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]float64, error) {
	off, err := s.deps.Graph.WithoutPersonalization(ctx, tx, []id.User{reader})
	if err != nil || off[reader] {
		return nil, err
	}
	t := &taste{nowMs: s.nowMs(), reader: reader, seen: map[uint64]bool{}}
	if err := s.readAffinity(ctx, tx, t); err != nil || t.likes == nil {
		return nil, err
	}
	list, err := s.facts.get(ctx, tx, posts)
	if err != nil {
		return nil, err
	}
	out := map[uint64]float64{}
	for _, n := range posts {
		if f := list[n]; f != nil {
			if like := t.likes.likeness(f.vector); like > 0 {
				out[n] = like
			}
		}
	}
	return out, nil
}
