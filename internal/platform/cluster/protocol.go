//go:build !nextprotocol

package cluster

// Speaks is the protocol of this build. Understands is the oldest protocol that it works with, at most that of the release before.
const (
	Speaks      = 1
	Understands = 1
)
