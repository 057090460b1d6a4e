//go:build nextprotocol

package cluster

// A build with the tag nextprotocol stands for the next release in upgrade tests. It speaks the next protocol, with the same formats, and
// works with this release but no older one.
const (
	Speaks      = 2
	Understands = 1
)
