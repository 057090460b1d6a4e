// Package other may touch low only.
package other

import "example.org/bad/beside"

// N is a constant.
const N = beside.N
