package ranking

import (
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	dayMs = 24 * 3600 * 1000
	// recencyHalfMs is the age at which a post is worth half of a new one.
	recencyHalfMs = dayMs
	// tasteHalfMs is the age at which a like, a comment and a request for less count half.
	tasteHalfMs = 30 * dayMs
	// countBits is the binary logarithm of the number of likes or comments that is a feature of 1.
	countBits = 16
	// affinityHalf is how many likes of posts of an author make an affinity of a half.
	affinityHalf = 3
	// networkFull is how many likes of followed users are a feature of 1.
	networkFull = 3
	// hiddenMs is how long "show less" hides the posts of an author.
	hiddenMs = 30 * dayMs
	// minReason is how many points a feature must add to be a reason.
	minReason = 0.05
)

// taste is what a reader's ranks follow from, as of a snapshot.
type taste struct {
	nowMs  int64
	reader id.User
	// notPersonal: the reader has turned personalization off, so affinity, likes and seen are empty, and what is shown is not logged.
	notPersonal bool
	followed    map[id.User]bool    // whose posts are shown
	affinity    map[id.User]float64 // likes and comments by author, decayed
	network     map[uint64]int      // how many of followed like a post
	seen        map[uint64]bool
	less        less
	// likes is what the reader liked and commented on, decayed: a vector of length 1, or nil. sum is it before it is scaled.
	likes *vector
	sum   vector
}

// values are the features of a post.
type values [featureCount]float64

// candidate is a post with what ranks it.
type candidate struct {
	*facts
	post    uint64
	values  values
	score   float64
	sources []rankingv1.RankReason // empty: it is no candidate
	alike   float64                // the highest likeness with a post before it in the order
}

// featuresOf returns the features of a post.
func (t *taste) featuresOf(post uint64, f *facts) (v values) {
	v[recency] = halved(t.nowMs-f.createdMs, recencyHalfMs)
	v[likes] = logCount(f.likes)
	v[comments] = logCount(f.comments)
	a := t.affinity[f.author]
	v[affinity] = a / (a + affinityHalf)
	v[followed] = truth(t.followed[f.author])
	v[network] = min(1, float64(t.network[post])/networkFull)
	v[seen] = truth(t.seen[post])
	v[shownLess] = t.less.strength(f, t.nowMs)
	v[similarity] = t.likes.likeness(f.vector)
	return v
}

// liked adds a post to what the reader likes.
func (t *taste) liked(f *facts, much float64) {
	t.affinity[f.author] += much
	if f.vector != nil {
		for i, x := range f.vector {
			t.sum[i] += x * float32(much)
		}
	}
}

// halved returns 1, halved for each half-life of an age. What is of the future has no age.
func halved(ageMs, halfMs int64) float64 { return math.Exp2(-float64(max(0, ageMs)) / float64(halfMs)) }

func logCount(n uint32) float64 { return min(1, math.Log2(1+float64(n))/countBits) }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// reasons returns why a post is shown: where it comes from, and the strongest feature that adds to its score, or to the model's estimate.
func (c *candidate) reasons(r *ranking) (list []rankingv1.RankReason) {
	list = append(list, c.sources[:min(1, len(c.sources))]...)
	strongest, most := rankingv1.RankReason_RANK_REASON_UNSPECIFIED, minReason
	for i := range features {
		reason := features[i].reason
		if points := r.points(feature(i), &c.values); points > most && reason != rankingv1.RankReason_RANK_REASON_UNSPECIFIED && !slices.Contains(list, reason) {
			strongest, most = reason, points
		}
	}
	if strongest != rankingv1.RankReason_RANK_REASON_UNSPECIFIED {
		list = append(list, strongest)
	}
	return list
}

// points returns what a feature adds to a score, or, with a model, to the log-odds of a click.
func (r *ranking) points(f feature, v *values) float64 {
	if r.model != nil && f < modelFeatures {
		return r.model.Click.Term(int(f), v[f])
	}
	return r.weights[f] * v[f]
}

// message returns the score of a candidate as operators see it.
func (r *ranking) message(c *candidate) *rankingv1.RankingScore {
	out := &rankingv1.RankingScore{Total: c.score, Fallback: r.fallback}
	for i := range features {
		if r.counts(feature(i)) {
			out.Parts = append(out.Parts, &rankingv1.RankingScorePart{Weight: features[i].name, Feature: c.values[i], Points: r.weights[i] * c.values[i]})
		}
	}
	if r.model != nil {
		row := rowOf(&c.values, c.facts)
		out.Model = r.model.id
		out.ClickTerms = termsOf(&r.model.Click, row)
		if h := r.model.Conversion; h != nil && c.goods {
			out.ConversionTerms = termsOf(h, row)
		}
	}
	return out
}

// counts reports whether a feature is in scores: with a model, those are its estimates, and what operators decide beside it.
func (r *ranking) counts(f feature) bool {
	switch f {
	case click, conversion:
		return r.model != nil
	case seen, shownLess:
		return true
	}
	return r.model == nil
}
