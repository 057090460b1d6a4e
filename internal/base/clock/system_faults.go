//go:build faults

package clock

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// jumps of the clock, as the file defines them.
type jumps struct {
	path   string
	ahead  atomic.Int64 // nanoseconds
	looked atomic.Int64 // when the file was read, Unix nanoseconds
}

var file = sync.OnceValue(func() *jumps { return &jumps{path: os.Getenv("CHAOS_CLOCK")} })

// often the file is read.
const often = 20 * time.Millisecond

// Now is the machine's time plus the jump. It has no monotonic reading, which does not jump and would hide the jump.
func (System) Now() time.Time {
	now := time.Now()
	j := file()
	if j.path == "" {
		return now
	}
	if was := j.looked.Load(); now.UnixNano()-was > int64(often) && j.looked.CompareAndSwap(was, now.UnixNano()) {
		if b, err := os.ReadFile(j.path); err == nil { // without a file, the clock has not jumped yet
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
				j.ahead.Store(n)
			}
		}
	}
	return now.Round(0).Add(time.Duration(j.ahead.Load()))
}
