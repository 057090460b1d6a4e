package vectorindex

import "math"

// Packed vectors have a byte for each dimension, of which seven bits are used, and eight dimensions in a word: 64 dimensions fill a line of the cache. Every second byte of a word is a lane of 16 bits.
// Four lanes, multiplied by four lanes of another vector in the reverse order, have the sum of the four products in the highest 16 bits:
//
//	(a0 + a1·X + a2·X² + a3·X³) · (b3 + b2·X + b1·X² + b0·X³) = … + (a0·b0 + a1·b1 + a2·b2 + a3·b3)·X³ + …, where X is 2^16
//
// What is above it leaves the word, and the sums below it fit into their 16 bits, with a sign, so that they change it by one at most. So 64 dimensions take 16 multiplications, and a quarter of the
// memory: most of the time of a search is spent waiting for that of vectors that it has not visited. A similarity by packed vectors is right within about 0.005, which is enough to find the way and
// to choose links. What Search returns is computed from the vectors themselves.
const (
	bytesOfWord = 8
	evenBytes   = 0x00ff00ff00ff00ff
	sumShift    = 48
	byteMost    = 63 // a dimension is from -byteMost to byteMost, times the scale of its vector
	byteShift   = 64 // is added to the bytes of a packed vector, so that none is negative
)

// wordsOf returns how many words a packed vector has.
func wordsOf(dimensions int) int { return (dimensions + bytesOfWord - 1) / bytesOfWord }

// pack packs a vector into words, of which there are wordsOf its dimensions. It returns the scale, by which dimensions are multiplied.
func pack(v []float32, words []uint64) (scale float32) {
	most := float32(0)
	for _, c := range v {
		most = max(most, c, -c)
	}
	for w := range words {
		words[w] = 0
		for b := range bytesOfWord {
			n := 0
			if i := w*bytesOfWord + b; i < len(v) && most > 0 {
				n = int(math.Round(float64(v[i] / most * byteMost)))
			}
			words[w] |= uint64(n+byteShift) << (8 * b)
		}
	}
	return most / byteMost
}

// factor is the other factor of products with packed vectors: two words for each of theirs, with the even and the odd dimensions as lanes in the reverse order. Its lanes have signs.
type factor struct {
	lanes []uint64
	scale float32
	// excess is what products have more than they should, for the shift of packed vectors.
	excess int64
}

// setTo makes a factor of a packed vector and its scale. It uses its memory again.
func (f *factor) setTo(words []uint64, scale float32) {
	f.lanes, f.scale, f.excess = f.lanes[:0], scale, 0
	for _, w := range words {
		for _, lanes := range [2]uint64{w & evenBytes, w >> 8 & evenBytes} {
			reversed := uint64(0)
			for range 4 {
				n := int64(lanes&0xff) - byteShift
				f.excess += byteShift * n
				reversed = reversed<<16 + uint64(n)
				lanes >>= 16
			}
			f.lanes = append(f.lanes, reversed)
		}
	}
}

// similarity returns the product with a packed vector of as many dimensions, approximately.
func (f *factor) similarity(words []uint64, scale float32) float32 {
	lanes := f.lanes[:2*len(words)]
	var even, odd int64
	i := 0
	for ; i+4 <= len(words); i += 4 { // slices of a fixed length are not checked again
		w, l := words[i:i+4:i+4], lanes[2*i:2*i+8:2*i+8]
		even += int64((w[0]&evenBytes)*l[0])>>sumShift + int64((w[1]&evenBytes)*l[2])>>sumShift + int64((w[2]&evenBytes)*l[4])>>sumShift + int64((w[3]&evenBytes)*l[6])>>sumShift
		odd += int64((w[0]>>8&evenBytes)*l[1])>>sumShift + int64((w[1]>>8&evenBytes)*l[3])>>sumShift + int64((w[2]>>8&evenBytes)*l[5])>>sumShift + int64((w[3]>>8&evenBytes)*l[7])>>sumShift
	}
	for ; i < len(words); i++ {
		even += int64((words[i]&evenBytes)*lanes[2*i]) >> sumShift
		odd += int64((words[i]>>8&evenBytes)*lanes[2*i+1]) >> sumShift
	}
	return float32(even+odd-f.excess) * (f.scale * scale)
}
