//go:build nextprotocol

package cluster

// What the release after this one will say, with the forms of this one: a build with this tag stands for it in tests of upgrades, beside
// one without. So it speaks one protocol more, and works with this release and no older one.
const (
	Speaks      = 2
	Understands = 1
)
