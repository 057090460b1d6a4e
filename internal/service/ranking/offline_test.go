package ranking

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/clickmodel"
)

// byWeights is a model that ranks by the default weights. Its estimates are no probabilities.
func byWeights() *clickmodel.Model {
	w := defaultWeights()
	m := &clickmodel.Model{Features: ModelFeatures(), Click: clickmodel.Head{Scale: 1, Weights: make([]float64, rowFeatures)}}
	copy(m.Click.Weights, w[:modelFeatures])
	return m
}

// TestRanksBeatPopularity judges the default weights offline: for simulated readers whose tastes are known, the first 20 of 1,000 posts are at least 1.2 times as good as those with
// the most likes.
func TestRanksBeatPopularity(t *testing.T) {
	e := clickmodel.Evaluate(byWeights(), Simulate(1, 0, 0, 10).Candidates)
	t.Logf("NDCG@20 %.3f, by likes %.3f, by age %.3f", e.Model.NDCG, e.Popularity.NDCG, e.Recency.NDCG)
	if e.Model.NDCG < 1.2*e.Popularity.NDCG {
		t.Errorf("NDCG@20 is %.3f, and %.3f by likes", e.Model.NDCG, e.Popularity.NDCG)
	}
}

// TestModelsBeatPopularity trains a model with what simulated readers were shown and did, and judges it by other readers.
func TestModelsBeatPopularity(t *testing.T) {
	s := Simulate(2, 60, 10, 12)
	m, err := clickmodel.Train(ModelFeatures(), s.Impressions)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, m, s)
	if a, b := Simulate(3, 1, 2, 0), Simulate(3, 1, 2, 0); !reflect.DeepEqual(a, b) {
		t.Error("the same numbers make another simulation")
	}
	again, err := clickmodel.Train(ModelFeatures(), s.Impressions)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := encode(t, m), encode(t, again); !slices.Equal(a, b) {
		t.Error("the same examples make another model")
	}
}

// judge checks that a model is better than popularity, recency and the default weights, that its estimates are right, and that it knows what is liked.
func judge(t testing.TB, m *clickmodel.Model, s *Simulation) {
	e, weights := clickmodel.Evaluate(m, s.Candidates), clickmodel.Evaluate(byWeights(), s.Candidates)
	t.Logf("NDCG@20 %.3f, by likes %.3f, by age %.3f, by weights %.3f; AUC %.3f, %.3f, %.3f; calibration error %.4f, of conversions %.4f; coverage %.2f, %.2f",
		e.Model.NDCG, e.Popularity.NDCG, e.Recency.NDCG, weights.Model.NDCG, e.Model.AUC, e.Popularity.AUC, e.Recency.AUC, e.CalibrationError, e.Conversions.CalibrationError, e.Model.Coverage, e.Popularity.Coverage)
	if e.Model.NDCG < 1.2*e.Popularity.NDCG || e.Model.NDCG < 1.2*e.Recency.NDCG || e.Model.NDCG <= weights.Model.NDCG {
		t.Errorf("NDCG@20 is %.3f, by likes %.3f, by age %.3f, by weights %.3f", e.Model.NDCG, e.Popularity.NDCG, e.Recency.NDCG, weights.Model.NDCG)
	}
	if e.Model.AUC <= e.Popularity.AUC || e.Model.AUC <= e.Recency.AUC {
		t.Errorf("AUC is %.3f, by likes %.3f, by age %.3f", e.Model.AUC, e.Popularity.AUC, e.Recency.AUC)
	}
	if e.CalibrationError > 0.02 || e.Conversions.CalibrationError > 0.02 || e.LogLoss >= e.BaseLogLoss {
		t.Errorf("the calibration error is %.4f, of conversions %.4f; the loss is %.3f, of the average %.3f", e.CalibrationError, e.Conversions.CalibrationError, e.LogLoss, e.BaseLogLoss)
	}
	if w := m.Click.Weights[similarity]; w <= 0 {
		t.Errorf("the weight of similarity is %v", w)
	}
}

func encode(t testing.TB, m *clickmodel.Model) []byte {
	b, err := clickmodel.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// BenchmarkOfflineEvaluation is TestModelsBeatPopularity with more readers, in several worlds.
func BenchmarkOfflineEvaluation(b *testing.B) {
	for b.Loop() {
		for seed := range uint64(3) {
			s := Simulate(10+seed, 300, 20, 60)
			m, err := clickmodel.Train(ModelFeatures(), s.Impressions)
			if err != nil {
				b.Fatal(err)
			}
			judge(b, m, s)
		}
	}
}
