package chaos

import (
	"math"
	"time"
)

// Packet loss is deterministic: a function of the seed decides about the n-th packet in a direction, so a run with the same seed loses
// the same ones. The kernel program (lossprogram_linux.go) computes the same function.

// The constants are those of SplitMix64.
const (
	golden = 0x9e3779b97f4a7c15
	mixOne = 0xbf58476d1ce4e5b9
	mixTwo = 0x94d049bb133111eb
)

// splitMix64 hashes a number.
func splitMix64(z uint64) uint64 {
	z = (z ^ z>>30) * mixOne
	z = (z ^ z>>27) * mixTwo
	return z ^ z>>31
}

// isLost reports whether packet n, from 0, is lost in a direction with this seed.
func isLost(seed, n uint64, share float64) bool {
	return splitMix64(seed+(n+1)*golden)>>32 < lossLimit(share)
}

// lossLimit is the hash below which a packet is lost.
func lossLimit(share float64) uint64 { return uint64(share * math.MaxUint32) }

// lossSeed returns the seed of one fault of a run.
func lossSeed(run uint64, at time.Duration, node int) uint64 {
	return splitMix64(splitMix64(run+golden) + uint64(at) + uint64(node)*golden)
}

// Directions of a host's packets.
const (
	lossFrom = "from the host"
	lossTo   = "to the host"
)

// directionSeed returns the seed of one direction of a fault.
func directionSeed(seed uint64, way string) uint64 {
	for _, c := range []byte(way) {
		seed = splitMix64(seed + uint64(c)*golden)
	}
	return seed
}
