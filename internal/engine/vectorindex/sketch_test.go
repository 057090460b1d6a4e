package vectorindex_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/vectorindex"
)

// between returns a vector of length 1 whose similarity to another one is given.
func between(random *rand.Rand, v []float32, similarity float64) []float32 {
	other := unit(random)
	part := vectorindex.Product(v, other)
	for i := range other {
		other[i] -= part * v[i]
	}
	other = scaled(other)
	for i := range other {
		other[i] = float32(similarity)*v[i] + float32(math.Sqrt(1-similarity*similarity))*other[i]
	}
	return other
}

// By their sketches, few vectors are less similar than they are, and most of those in other directions are less similar than what is searched for.
func TestSketches(t *testing.T) {
	x, err := vectorindex.New(vectorindex.Config{Dimensions: dimensions, Capacity: 1, Seed: 8})
	must(t, err)
	random := rand.New(rand.NewPCG(8, 8))
	const pairs = 500
	for _, similarity := range []float64{0.3, 0.5, 0.7, 0.9, 0.99} {
		var lost, excluded [2]int
		for range pairs {
			v := unit(random)
			bounds := func(similarity float64) [2]float32 {
				search, build := x.SketchBounds(v, between(random, v, similarity))
				return [2]float32{search, build}
			}
			same, less := bounds(similarity), bounds(similarity-0.3)
			for i := range lost {
				if same[i] < float32(similarity) {
					lost[i]++
				}
				if less[i] < float32(similarity) {
					excluded[i]++
				}
			}
		}
		if lost[0] > pairs/3 || lost[1] > pairs/20 || excluded[0] < pairs*9/10 || excluded[1] < pairs*3/4 {
			t.Errorf("of %d pairs with the similarity %v, %d seem to have less (searches, links); of those with 0.3 less, %d are excluded", pairs, similarity, lost, excluded)
		}
	}
	v := unit(random)
	if search, build := x.SketchBounds(v, v); search < 1 || build < 1 {
		t.Errorf("a vector has the similarities %v and %v to itself", search, build)
	}
}

// New nodes are linked with their neighbours, though sketches exclude most others: a narrow build and a narrow search still find most of the ten nearest.
func TestRecallOfNarrowBuilds(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 11))
	next := func() []float32 { return unit(random) }
	x, vectors := filled(t, next, vectorindex.Config{Dimensions: dimensions, Capacity: 3000, Links: 12, BuildWidth: 12, SearchWidth: 150, Seed: 11})
	if part := recall(t, x, vectors, next, 100); part < 0.95 {
		t.Errorf("recall@10 is %.3f", part)
	}
}
