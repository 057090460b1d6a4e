package engagement

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/counter"
)

// lastExported is the last kind of sets that an export has: likes of posts, favourites, and likes of comments.
const lastExported = counter.CommentLikes

// ImportLikes adds users to sets, with their original times, and tells nobody. It sets Changed of those who were no members before. The caller has checked that the
// users and the subjects exist. It may be repeated.
func (s *Service) ImportLikes(ctx context.Context, likes []counter.Change) error {
	if s.deps.LikesOff != nil && s.deps.LikesOff() {
		return errLikesOff
	}
	for i := range likes {
		likes[i].Quiet = true
	}
	return s.deps.Counters.Apply(ctx, likes)
}

// ExportLikes returns a page of the likes and favourites of all users, behind one of them.
func (s *Service) ExportLikes(ctx context.Context, behind counter.Membership, limit int) ([]counter.Membership, error) {
	return s.deps.Counters.Export(ctx, lastExported, behind, limit)
}

// CountLikes returns how many likes and favourites there are.
func (s *Service) CountLikes(ctx context.Context) (uint64, error) {
	return s.deps.Counters.CountMembers(ctx, lastExported)
}
