package terminal

import (
	"context"
	"strings"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// forYou shows the posts that are ranked for the user, or those after the ones that it showed last.
func (s *screen) forYou(ctx context.Context, rest string) error {
	return s.listPosts(ctx, "foryou", rest, phrase("There is nothing to recommend yet. /follow @handle, or /like N of /feed"), func(page string, _ int) (listedPosts, error) {
		r, err := call(ctx, s.client.Ranking().ForYou, &rankingv1.ForYouRequest{Page: page, Limit: postsPerPage})
		l := listedPosts{next: r.GetNext()}
		for _, p := range r.GetPosts() {
			l.posts, l.notes = append(l.posts, p.Post), append(l.notes, reasonsText(p.Reasons))
		}
		s.noteRanked(l.posts)
		return l, err
	})
}

// maxRanked bounds the ranked posts of which it is known whether they were opened.
const maxRanked = 1000

// noteRanked notes posts that are ranked for the user.
func (s *screen) noteRanked(posts []*feedv1.Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unopened == nil || len(s.unopened)+len(posts) > maxRanked {
		s.unopened = map[uint64]bool{}
	}
	for _, p := range posts {
		s.unopened[p.Id] = true
	}
}

// openedPost tells the server, once for each time that a post was ranked for the user, that the user opened it. What the user asked for does not fail with it.
func (s *screen) openedPost(ctx context.Context, post uint64) {
	s.mu.Lock()
	isFirst := s.unopened[post]
	delete(s.unopened, post)
	s.mu.Unlock()
	if isFirst {
		_ = s.client.RecordImpressions(ctx, []uint64{post}, nil)
	}
}

// reasonsText says why a post is shown. Reasons that this client does not know are left out.
func reasonsText(reasons []rankingv1.RankReason) string {
	var parts []string
	for _, r := range reasons {
		switch r {
		case rankingv1.RankReason_RANK_REASON_FOLLOWED:
			parts = append(parts, phrase("you follow the author"))
		case rankingv1.RankReason_RANK_REASON_NETWORK:
			parts = append(parts, phrase("liked by people you follow"))
		case rankingv1.RankReason_RANK_REASON_POPULAR:
			parts = append(parts, phrase("popular"))
		case rankingv1.RankReason_RANK_REASON_AFFINITY:
			parts = append(parts, phrase("you often like or comment on posts of this author"))
		case rankingv1.RankReason_RANK_REASON_RECENT:
			parts = append(parts, phrase("new"))
		case rankingv1.RankReason_RANK_REASON_DISCUSSED:
			parts = append(parts, phrase("many comments"))
		case rankingv1.RankReason_RANK_REASON_SIMILAR:
			parts = append(parts, phrase("like what you like"))
		}
	}
	if len(parts) == 0 {
		return phrase("popular")
	}
	return strings.Join(parts, ", ")
}

// less shows less of the author of a post that is on the screen.
func (s *screen) less(ctx context.Context, rest string) error {
	author, err := s.authorAt(rest)
	if err == nil {
		_, err = call(ctx, s.client.Ranking().ShowLess, &rankingv1.ShowLessRequest{Author: author})
	}
	return s.done(err)
}
