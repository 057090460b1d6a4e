//go:build faults

// Package failpoint has places where a test may kill the process. Without the build tag faults they do nothing. With it, the
// environment variable RIALTO_FAILPOINT="name:n" kills the process, as kill -9 does, at the n-th hit of name.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

var plan = sync.OnceValues(func() (string, int64) {
	name, n, _ := strings.Cut(os.Getenv("RIALTO_FAILPOINT"), ":")
	at, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		at = 1
	}
	return name, at
})

var hits atomic.Int64

// Hit is a place.
func Hit(name string) {
	if want, at := plan(); want == name && hits.Add(1) == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // never continues
	}
}
