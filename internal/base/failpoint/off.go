//go:build !faults

// Package failpoint has places where a test may kill the process. Without the build tag faults they do nothing. With it, the
// environment variable RIALTO_FAILPOINT="name:n" kills the process, as kill -9 does, at the n-th hit of name.
package failpoint

// Hit is a place.
func Hit(string) {}
