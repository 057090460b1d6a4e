package vectorindex

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A sketch says for each of sketchBits planes through the origin on which side of it a vector is. A random plane separates two vectors with the probability of their angle divided by π. So
// the sides that they share tell how similar they are, with an error that follows from the number of planes. Most neighbours that a search comes to are not similar enough to be kept, and nearly all of these are
// recognised by two words, without reading their vectors.
//
// Planes are perpendicular to each other as far as the dimensions permit, which makes the errors smaller.
const (
	sketchWords = 2
	sketchBits  = 64 * sketchWords
	packedError = 0.01 // is how wrong similarities by packed vectors are at most
	// How many standard errors a similarity is allowed to be above what the sketches say, in searches and in those for the links of a new node: more make searches more exact and slower. A link that is not found is missed by all searches.
	searchError, buildError = 0.5, 1.5
)

type sketch [sketchWords]uint64

// planes divide the space, each by the vector that is perpendicular to it.
type planes [][]float32

// newPlanes returns random planes, which follow from the seed.
func newPlanes(dimensions int, seed uint64) planes {
	random := rand.New(rand.NewPCG(seed, sketchBits))
	list := make(planes, sketchBits)
	for i := range list {
		v := make([]float32, dimensions)
		for k := range v {
			v[k] = float32(random.NormFloat64())
		}
		for _, other := range list[i-i%dimensions : i] {
			part := Product(v, other) / Product(other, other)
			for k := range v {
				v[k] -= part * other[k]
			}
		}
		list[i] = v
	}
	return list
}

// sketch returns the sketch of a vector.
func (p planes) sketch(v []float32) (s sketch) {
	for i, plane := range p {
		if Product(plane, v) > 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// differences returns how many planes are between two vectors.
func (s *sketch) differences(other *sketch) int {
	return bits.OnesCount64(s[0]^other[0]) + bits.OnesCount64(s[1]^other[1])
}

// bounds has for each number of planes between two vectors how similar these are at most, but for a few.
type bounds [sketchBits + 1]float32

// newBounds returns the bounds for which some standard errors are allowed.
func newBounds(allowed float64) *bounds {
	b := &bounds{}
	for n := range b {
		part := float64(n) / sketchBits
		part -= allowed * math.Sqrt(part*(1-part)/sketchBits)
		b[n] = packedError + float32(math.Cos(math.Pi*max(0, part)))
	}
	return b
}
