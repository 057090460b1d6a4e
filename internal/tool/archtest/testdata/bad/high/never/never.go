// Package never imports what it must not, under another name.
package never

import b "example.org/bad/low/beside"

// N is a constant.
const N = b.N
