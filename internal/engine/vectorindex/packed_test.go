package vectorindex

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Products of packed vectors are those of the vectors, nearly, whatever the number of dimensions; also at the ends of the range, where a lane has the greatest sum.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	unit := func(n int, next func() float64) []float32 {
		v, sum := make([]float32, n), 0.0
		for i := range v {
			v[i] = float32(next())
			sum += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] = float32(float64(v[i]) / math.Sqrt(sum))
		}
		return v
	}
	var f factor
	for _, n := range []int{1, 7, 8, 9, 31, 32, 33, 64, 100, 384} {
		for name, next := range map[string]func() float64{
			"random":     random.NormFloat64,
			"all equal":  func() float64 { return 1 },
			"opposite":   func() float64 { return -1 },
			"of corners": func() float64 { return float64(2*random.IntN(2) - 1) },
		} {
			a, b := unit(n, next), unit(n, random.NormFloat64)
			for _, other := range [][]float32{a, b} {
				words, others := make([]uint64, wordsOf(n)), make([]uint64, wordsOf(n))
				own := pack(a, words)
				f.setTo(words, own)
				scale := pack(other, others)
				got, want := f.similarity(others, scale), Product(a, other)
				if math.Abs(float64(got-want)) > 0.02 {
					t.Errorf("%d dimensions, %s: the product is %.4f, want %.4f", n, name, got, want)
				}
			}
		}
	}
	zero := make([]uint64, wordsOf(10))
	none := pack(make([]float32, 10), zero)
	if f.setTo(zero, none); f.similarity(zero, none) != 0 {
		t.Errorf("the product of nothing is %v", f.similarity(zero, none))
	}
}
