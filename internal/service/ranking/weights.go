package ranking

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// feature is a number of a feature.
type feature int

// The features of a post, in the order in which scores list them.
const (
	recency feature = iota
	likes
	comments
	affinity
	followed
	network
	seen
	shownLess
	similarity
	click // the estimates of the model in use
	conversion
	featureCount
	// modelFeatures are those before the estimates: models estimate with them.
	modelFeatures = click
)

// featureInfo describes a feature. Its name is that of its weight in RankingWeights.
type featureInfo struct {
	name      string
	byDefault int32
	// reason is what the feature says to a reader if it adds to a score.
	reason rankingv1.RankReason
	field  func(w *rankingv1.RankingWeights) **int32
}

// bounds of the weight, in percent. A score of a search is a product, whose parts are not negative.
func (i *featureInfo) bounds() (least, most int32) {
	switch {
	case !strings.HasPrefix(i.name, "search_"):
		return -maxWeight, maxWeight
	case i.name == searchRecency.name:
		return 0, 100
	}
	return 0, maxWeight
}

var features = [featureCount]featureInfo{
	recency:    {"recency", 100, rankingv1.RankReason_RANK_REASON_RECENT, func(w *rankingv1.RankingWeights) **int32 { return &w.Recency }},
	likes:      {"likes", 60, rankingv1.RankReason_RANK_REASON_POPULAR, func(w *rankingv1.RankingWeights) **int32 { return &w.Likes }},
	comments:   {"comments", 40, rankingv1.RankReason_RANK_REASON_DISCUSSED, func(w *rankingv1.RankingWeights) **int32 { return &w.Comments }},
	affinity:   {"affinity", 120, rankingv1.RankReason_RANK_REASON_AFFINITY, func(w *rankingv1.RankingWeights) **int32 { return &w.Affinity }},
	followed:   {"followed", 80, rankingv1.RankReason_RANK_REASON_FOLLOWED, func(w *rankingv1.RankingWeights) **int32 { return &w.Followed }},
	network:    {"network", 60, rankingv1.RankReason_RANK_REASON_NETWORK, func(w *rankingv1.RankingWeights) **int32 { return &w.Network }},
	seen:       {"seen", -150, rankingv1.RankReason_RANK_REASON_UNSPECIFIED, func(w *rankingv1.RankingWeights) **int32 { return &w.Seen }},
	shownLess:  {"shown_less", -200, rankingv1.RankReason_RANK_REASON_UNSPECIFIED, func(w *rankingv1.RankingWeights) **int32 { return &w.ShownLess }},
	similarity: {"similarity", 50, rankingv1.RankReason_RANK_REASON_SIMILAR, func(w *rankingv1.RankingWeights) **int32 { return &w.Similarity }},
	click:      {"click", 400, rankingv1.RankReason_RANK_REASON_UNSPECIFIED, func(w *rankingv1.RankingWeights) **int32 { return &w.Click }},
	conversion: {"conversion", 400, rankingv1.RankReason_RANK_REASON_UNSPECIFIED, func(w *rankingv1.RankingWeights) **int32 { return &w.Conversion }},
}

// diversity is a weight that is no feature of a post: it is for one that is just like a post before it.
var diversity = featureInfo{name: "diversity", byDefault: -30, field: func(w *rankingv1.RankingWeights) **int32 { return &w.Diversity }}

// The weights of the search's scores, which package search computes.
var (
	searchRecency    = featureInfo{name: "search_recency", byDefault: 50, field: func(w *rankingv1.RankingWeights) **int32 { return &w.SearchRecency }}
	searchPopularity = featureInfo{name: "search_popularity", byDefault: 5, field: func(w *rankingv1.RankingWeights) **int32 { return &w.SearchPopularity }}
	searchPreference = featureInfo{name: "search_preference", byDefault: 50, field: func(w *rankingv1.RankingWeights) **int32 { return &w.SearchPreference }}
)

// allWeights are the weights that operators set.
func allWeights() []featureInfo {
	return append(slices.Clone(features[:]), diversity, searchRecency, searchPopularity, searchPreference)
}

// SearchWeights returns the weights of searches as they are now: 1 for 100 percent.
func (s *Service) SearchWeights() (recency, popularity, preference float64) {
	return s.weight(&searchRecency), s.weight(&searchPopularity), s.weight(&searchPreference)
}

const (
	// weightPrefix begins the names of the numbers that are weights.
	weightPrefix  = "ranking."
	maxWeight     = 1000 // percent
	weightChanges = 100  // of an answer
)

func (i *featureInfo) number() runtimeswitch.Name { return runtimeswitch.Name(weightPrefix + i.name) }

// weights are what a feature of 1 adds to a score.
type weights [featureCount]float64

func (s *Service) weights() (w weights) {
	for i := range features {
		w[i] = s.weight(&features[i])
	}
	return w
}

// weight returns what a weight adds to a score.
func (s *Service) weight(i *featureInfo) float64 {
	return float64(s.deps.Numbers.Number(i.number(), int64(i.byDefault))) / 100
}

// weightsMessage returns the weights as operators see them.
func (s *Service) weightsMessage() *rankingv1.RankingWeights {
	out := &rankingv1.RankingWeights{}
	for _, i := range allWeights() {
		n := int32(s.deps.Numbers.Number(i.number(), int64(i.byDefault)))
		*i.field(out) = &n
	}
	return out
}

// SetRankingWeights replaces the weights.
func (s *Service) SetRankingWeights(ctx context.Context, r *rankingv1.SetRankingWeightsRequest) (*rankingv1.RankingWeights, error) {
	if r.Weights == nil {
		return nil, badRanking("give weights; those that are all the defaults are {}")
	}
	to := map[runtimeswitch.Name]*int64{}
	for _, info := range allWeights() {
		to[info.number()] = nil
		v := *info.field(r.Weights)
		if v == nil || *v == info.byDefault { // so that the change of one weight is one change
			continue
		}
		if least, most := info.bounds(); *v < least || *v > most {
			return nil, badRanking(fmt.Sprintf("the weight %s is %d; give one from %d to %d", info.name, *v, least, most))
		}
		n := int64(*v)
		to[info.number()] = &n
	}
	if err := s.deps.Numbers.SetNumbers(ctx, to, r.By, r.Reason); err != nil {
		return nil, err
	}
	return s.weightsMessage(), nil
}

// GetRankingWeights returns the weights, and the latest changes.
func (s *Service) GetRankingWeights(ctx context.Context) (*rankingv1.GetRankingWeightsResponse, error) {
	list, err := s.deps.Numbers.NumberChanges(ctx, weightPrefix, weightChanges)
	if err != nil {
		return nil, err
	}
	out := &rankingv1.GetRankingWeightsResponse{Weights: s.weightsMessage()}
	for _, c := range list {
		change := &rankingv1.RankingWeightChange{Weight: strings.TrimPrefix(string(c.Name), weightPrefix), By: c.By, Reason: c.Reason, TimeMs: c.TimeMs}
		if c.Value != nil {
			n := int32(*c.Value)
			change.Value = &n
		}
		out.Changes = append(out.Changes, change)
	}
	return out, nil
}
