package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

var errNoMoreRanked = errors.New("there are no more posts; /foryou ranks again")

// forYou shows the posts that are ranked for the user, or those after the ones that it showed last.
func (s *screen) forYou(ctx context.Context, rest string) error {
	page := ""
	switch strings.TrimSpace(rest) {
	case "":
	case "more":
		s.mu.Lock()
		page = s.rankedNext
		s.mu.Unlock()
		if page == "" {
			return errNoMoreRanked
		}
	default:
		return errors.New("give /foryou, or /foryou more")
	}
	var ranked []*rankingv1.RankedPost
	for { // a page may be empty although others follow
		r, err := call(ctx, s.client.Ranking().ForYou, &rankingv1.ForYouRequest{Page: page, Limit: postsPerPage})
		if err != nil {
			return err
		}
		if ranked, page = r.Posts, r.Next; len(ranked) > 0 || page == "" {
			break
		}
	}
	s.mu.Lock()
	s.rankedNext = page
	s.mu.Unlock()
	if len(ranked) == 0 {
		s.say("There is nothing to recommend yet. /follow @handle, or /like N of /feed")
	}
	posts := make([]*feedv1.Post, len(ranked))
	for i, p := range ranked {
		posts[i] = p.Post
	}
	return s.sayPostsWith(ctx, posts, func(i int) string { return "\n      " + reasonsText(ranked[i].Reasons) })
}

// reasonsText says why a post is shown. Reasons that this client does not know are left out.
func reasonsText(reasons []rankingv1.RankReason) string {
	var parts []string
	for _, r := range reasons {
		switch r {
		case rankingv1.RankReason_RANK_REASON_FOLLOWED:
			parts = append(parts, "you follow the author")
		case rankingv1.RankReason_RANK_REASON_NETWORK:
			parts = append(parts, "liked by people you follow")
		case rankingv1.RankReason_RANK_REASON_POPULAR:
			parts = append(parts, "popular")
		case rankingv1.RankReason_RANK_REASON_AFFINITY:
			parts = append(parts, "you often like or comment on posts of this author")
		case rankingv1.RankReason_RANK_REASON_RECENT:
			parts = append(parts, "new")
		case rankingv1.RankReason_RANK_REASON_DISCUSSED:
			parts = append(parts, "many comments")
		}
	}
	if len(parts) == 0 {
		return "popular"
	}
	return strings.Join(parts, ", ")
}

// lessOfAuthor shows less of the author of a post that is on the screen.
func lessOfAuthor(ctx context.Context, s *screen, post uint64) error {
	s.mu.Lock()
	i := slices.Index(s.postIDs, post)
	if i < 0 {
		s.mu.Unlock()
		return errors.New("the post is not on the screen any more; /foryou shows others")
	}
	author := s.authors[i]
	s.mu.Unlock()
	_, err := call(ctx, s.client.Ranking().ShowLess, &rankingv1.ShowLessRequest{Author: author})
	return err
}
