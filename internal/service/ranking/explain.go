package ranking

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// ExplainRanking returns the score that a post has for a user, and why it is not shown, if so.
func (s *Service) ExplainRanking(ctx context.Context, r *rankingv1.ExplainRankingRequest) (out *rankingv1.ExplainRankingResponse, err error) {
	if r.User > math.MaxInt64 || r.Post > math.MaxInt64 {
		return nil, errs.New(errs.NotFound, "no_post", "there is no such post, or it is not for you")
	}
	reader := id.User(r.User)
	if err := s.deps.Graph.Exist(ctx, []id.User{reader}); err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &rankingv1.ExplainRankingResponse{}
		visible, err := s.deps.Posts.VisiblePosts(ctx, tx, reader, []uint64{r.Post})
		if err != nil {
			return err
		}
		if visible[r.Post] == nil {
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_NOT_VISIBLE
			return nil
		}
		author := id.User(visible[r.Post].Author)
		ranked, err := s.read(ctx, tx, reader, s.nowMs(), r.Post)
		if err != nil {
			return err
		}
		silenced, err := s.deps.Graph.MutedOrBlockedAmong(ctx, tx, reader, []id.User{author})
		if err != nil {
			return err
		}
		c := ranked.candidates[r.Post]
		if c == nil { // it was hidden when its facts were read
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_NO_CANDIDATE
			return nil
		}
		out.Score, out.Sources = ranked.message(c), c.sources
		switch {
		case author == reader:
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_OWN
		case silenced[author]:
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_MUTED
		case ranked.less.hides(author, ranked.nowMs):
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_SHOWN_LESS
		case len(c.sources) == 0:
			out.Exclusion = rankingv1.RankExclusion_RANK_EXCLUSION_NO_CANDIDATE
		}
		return nil
	})
	return out, err
}
