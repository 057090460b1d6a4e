// Package high touches what it may not, under another name.
package high

import b "example.org/bad/beside"

// N is a constant.
const N = b.N
