package memory

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestCgroupLimits(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"none":      {fstest.MapFS{}, math.MaxInt64},
		"no limit":  {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, math.MaxInt64},
		"version 2": {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("1073741824\n")}, 1 << 30},
		"version 2, of a container that sees another path": {fstest.MapFS{"proc/self/cgroup": file("0::/../x\n"), "sys/fs/cgroup/memory.max": file("1073741824\n")}, 1 << 30},
		"version 1": {fstest.MapFS{"proc/self/cgroup": file("9:name=systemd:/\n4:cpu,memory:/a\n0::/\n"), "sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("536870912\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 512 << 20},
	} {
		if got := cgroupLimit(test.files); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := ofMachine(fstest.MapFS{"proc/meminfo": file("MemFree: 1 kB\nMemTotal:       2048 kB\n")}); got != 2<<20 {
		t.Errorf("the machine has %d bytes, want 2 MiB", got)
	}
	if Available() <= 0 {
		t.Error("no memory is available")
	}
}
