// Package other may import low/own only.
package other

import "example.org/bad/low/beside"

// N is a constant.
const N = beside.N
