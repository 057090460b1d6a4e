//go:build unix

package inputlimit

import "golang.org/x/sys/unix"

// openFiles is how many files the process may open; 0 if unknown.
func openFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
