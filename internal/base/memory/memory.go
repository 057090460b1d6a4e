// Package memory determines how much memory this process may use.
package memory

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Available is the memory that this process may use: the least of the machine's memory, the limits of its control groups (version 1 and 2)
// and GOMEMLIMIT. If the system does not say, it is 1 GiB.
func Available() int64 {
	n := min(CgroupLimit(), ofMachine(os.DirFS("/")))
	if os.Getenv("GOMEMLIMIT") != "" {
		n = min(n, debug.SetMemoryLimit(-1))
	}
	if n == math.MaxInt64 {
		return 1 << 30
	}
	return n
}

// CgroupLimit is the least memory limit of the process's control groups, math.MaxInt64 without one.
func CgroupLimit() int64 { return cgroupLimit(os.DirFS("/")) }

// ofMachine returns the machine's memory.
func ofMachine(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return math.MaxInt64 // another system
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54)
			if err == nil {
				return kilobytes << 10
			}
		}
	}
	return math.MaxInt64
}

func cgroupLimit(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(b)) { // version 2 has 0::/a/b, version 1 has 4:memory:/a/b
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var mounts []string
		file := "memory.limit_in_bytes"
		switch {
		case parts[1] == "":
			mounts, file = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mounts = []string{"sys/fs/cgroup/memory"}
		default:
			continue
		}
		for _, mount := range mounts {
			// The limits of the parent groups count too. In a container the own group is mounted as the root, whatever the path says.
			for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
				if text, err := fs.ReadFile(root, path.Join(mount, group, file)); err == nil {
					if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // not "max"
						least = min(least, n)
					}
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return least
}
