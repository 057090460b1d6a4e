//go:build !nextprotocol

package cluster

// What this build speaks, and the oldest that it works with: at most the release before's.
const (
	Speaks      = 1
	Understands = 1
)
