package ranking

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// Bounds of what a ranking reads.
const (
	maxCandidates = 1000
	homePosts     = 500 // of the home timeline
	networkPosts  = 200 // that followed users like
	tasteLikes    = 200 // latest likes of the reader
	tasteComments = 100 // latest comments of the reader
	// A comment says more than a like.
	commentTaste = 2
)

// ranking has the candidates of a reader.
type ranking struct {
	*taste
	weights    weights
	diversity  float64 // at most 0: what a post that is just like one before it loses
	model      *activeModel
	fallback   string // why there is no model
	candidates map[uint64]*candidate
	done       func(ctx context.Context) // is called after the transaction
}

// read reads the candidates of a reader, and some other posts, with their scores.
func (s *Service) read(ctx context.Context, tx *sql.Tx, reader id.User, nowMs int64, others ...uint64) (*ranking, error) {
	r := &ranking{weights: s.weights(), diversity: s.weight(&diversity), candidates: map[uint64]*candidate{}}
	var err error
	if r.model, r.fallback, err = s.models.active(ctx, tx); err != nil {
		return nil, err
	}
	if r.taste, err = s.readTaste(ctx, tx, reader, nowMs); err != nil {
		return nil, err
	}
	home, done, err := s.deps.Posts.HomePosts(ctx, tx, reader, homePosts)
	if err != nil {
		return nil, err
	}
	r.done = done
	liked := slices.SortedFunc(maps.Keys(r.network), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(r.network[b], r.network[a]), cmp.Compare(b, a))
	})
	liked = liked[:min(len(liked), networkPosts)]
	similar := s.near.search(r.likes, neighbourPosts)
	different := map[uint64]bool{} // similar posts often come from other sources as well
	for _, n := range slices.Concat(home, liked, similar) {
		different[n] = true
	}
	popular, err := s.deps.Engagement.PopularPosts(ctx, tx, maxCandidates-len(different))
	if err != nil {
		return nil, err
	}
	all := slices.Concat(home, liked, similar, popular, others)
	facts, err := s.facts.get(ctx, tx, all)
	if err != nil {
		return nil, err
	}
	for n, f := range facts {
		v := r.featuresOf(n, f)
		r.candidates[n] = &candidate{facts: f, post: n, values: v, score: r.score(&v, f)}
	}
	r.from(home, rankingv1.RankReason_RANK_REASON_FOLLOWED)
	r.from(liked, rankingv1.RankReason_RANK_REASON_NETWORK)
	r.from(similar, rankingv1.RankReason_RANK_REASON_SIMILAR)
	r.from(popular, rankingv1.RankReason_RANK_REASON_POPULAR)
	return r, nil
}

// score returns the score of a post, and sets its estimates.
func (r *ranking) score(v *values, f *facts) (sum float64) {
	if r.model != nil {
		r.model.estimate(v, f)
	}
	for i := range v {
		if r.counts(feature(i)) {
			sum += r.weights[i] * v[i]
		}
	}
	return sum
}

// from records a source of posts.
func (r *ranking) from(list []uint64, source rankingv1.RankReason) {
	for _, n := range list {
		if c := r.candidates[n]; c != nil {
			c.sources = append(c.sources, source)
		}
	}
}

// best returns the candidates that may be shown, the best first.
func (r *ranking) best() []*candidate {
	list := make([]*candidate, 0, len(r.candidates))
	for _, c := range r.candidates {
		if len(c.sources) > 0 && c.author != r.reader && !r.less.hides(c.author, r.nowMs) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.post, a.post)) })
	return list
}

// readTaste reads what the ranks of a reader follow from.
func (s *Service) readTaste(ctx context.Context, tx *sql.Tx, reader id.User, nowMs int64) (*taste, error) {
	t := &taste{nowMs: nowMs, reader: reader}
	var err error
	if _, t.followed, _, err = s.deps.Graph.Followed(ctx, tx, reader); err != nil {
		return nil, err
	}
	if t.less, err = readLess(ctx, tx, reader); err != nil {
		return nil, err
	}
	off, err := s.deps.Graph.WithoutPersonalization(ctx, tx, []id.User{reader})
	if err != nil {
		return nil, err
	}
	if t.notPersonal = off[reader]; !t.notPersonal {
		if t.seen, err = s.deps.Engagement.ViewedPosts(ctx, tx, reader); err != nil {
			return nil, err
		}
		if err := s.readAffinity(ctx, tx, t); err != nil {
			return nil, err
		}
	}
	t.network, err = s.deps.Counters.In(tx).LatestOf(ctx, counter.PostLikes, t.closest(counter.MaxLatestUsers))
	return t, err
}

// readAffinity reads what the reader liked and commented on. What the reader liked has been seen.
func (s *Service) readAffinity(ctx context.Context, tx *sql.Tx, t *taste) error {
	liked, err := s.deps.Counters.In(tx).Subjects(ctx, counter.PostLikes, t.reader, counter.Position{}, tasteLikes)
	if err != nil {
		return err
	}
	commented, err := s.deps.Comments.LatestCommented(ctx, tx, t.reader, tasteComments)
	if err != nil {
		return err
	}
	posts := slices.Collect(maps.Keys(commented))
	for _, l := range liked {
		posts, t.seen[l.ID] = append(posts, l.ID), true
	}
	facts, err := s.facts.get(ctx, tx, posts)
	if err != nil {
		return err
	}
	t.affinity = map[id.User]float64{}
	add := func(post uint64, atMs int64, much float64) {
		if f := facts[post]; f != nil && f.author != t.reader {
			t.liked(f, much*halved(t.nowMs-atMs, tasteHalfMs))
		}
	}
	for _, l := range liked {
		add(l.ID, l.AtMs, 1)
	}
	for _, n := range slices.Sorted(maps.Keys(commented)) { // sums of floats depend on the order
		add(n, commented[n], commentTaste)
	}
	if t.sum != (vector{}) {
		t.likes = t.sum.scaled()
	}
	return nil
}

// closest returns at most n of those whom the reader follows: those with whom the reader has most to do, then the newest accounts.
func (t *taste) closest(n int) []id.User {
	list := slices.SortedFunc(maps.Keys(t.followed), func(a, b id.User) int {
		return cmp.Or(cmp.Compare(t.affinity[b], t.affinity[a]), cmp.Compare(b, a))
	})
	return list[:min(len(list), n)]
}
