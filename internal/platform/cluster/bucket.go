package cluster

import "slices"

// maxBuckets bounds the rows of a counter. Beyond so many nodes, some share one.
const maxBuckets = 64

// Bucket returns the number of a counter's row that a node writes: its place among the live nodes, which have the same order on each. So nodes do not
// wait for each other's rows. While nodes disagree about who lives, two may write to the same row.
func Bucket(nodes []string, node string) int64 {
	return int64(max(slices.Index(nodes, node), 0) % maxBuckets)
}
