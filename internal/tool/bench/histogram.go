package bench

import (
	"math/bits"
	"time"
)

// histogram of durations from 1 µs to some hours, in buckets 3 % wide. It is not safe for concurrent use.
type histogram struct {
	count   uint64
	buckets [41 * 32]uint32
}

func bucketOf(us uint64) int {
	if us < 32 {
		return int(us)
	}
	e := bits.Len64(us) - 6
	return min(32*(e+1)+int(us>>e)-32, 41*32-1)
}

func boundOf(i int) uint64 {
	if i < 32 {
		return uint64(i)
	}
	e := i/32 - 1
	return (uint64(i%32) + 32) << e
}

func (h *histogram) add(d time.Duration) {
	h.count++
	h.buckets[bucketOf(uint64(max(d, 0).Microseconds()))]++
}

func (h *histogram) merge(o *histogram) {
	h.count += o.count
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
}

// quantile in milliseconds.
func (h *histogram) quantile(q float64) float64 {
	if h.count == 0 {
		return 0
	}
	want, seen := uint64(q*float64(h.count-1))+1, uint64(0)
	for i, n := range h.buckets {
		if seen += uint64(n); seen >= want {
			return float64(boundOf(i)) / 1000
		}
	}
	return float64(boundOf(len(h.buckets)-1)) / 1000
}
