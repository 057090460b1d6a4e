package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// While its disk is throttled, all processes of a server are in the cgroup, including those that start later; afterwards none is. If the
// kernel cannot throttle, the report says why.
func TestSlowDisk(t *testing.T) {
	d, why := openDisk(".") // temporary files may be in memory
	if why != nil {
		if said := (&Postgres{why: why}).Disk(); !strings.Contains(said, "commit_delay") || !strings.Contains(said, why.Error()) {
			t.Errorf("the report: got %q, want commit_delay and the reason", said)
		}
		return
	}
	server := sqltest.Private(t)
	must(t, server.Exec(t.Context(), `SELECT 1`))
	limited := func() (groups []string, free int) {
		pids, err := server.Processes()
		must(t, err)
		for _, pid := range pids {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
			if err != nil {
				continue // it has ended
			}
			for _, line := range strings.Split(string(b), "\n") {
				w := strings.SplitN(line, ":", 3)
				if len(w) == 3 && w[1] == "blkio" {
					if strings.HasPrefix(w[2], "/rialto-chaos-") {
						groups = append(groups, filepath.Join(d.root, w[2]))
					} else {
						free++
					}
				}
			}
		}
		return groups, free
	}
	heal, err := d.slow(server, 7)
	must(t, err)
	groups, free := limited()
	if len(groups) == 0 || free > 0 {
		t.Fatalf("while throttled: got %d processes with a limit and %d without, want some and 0", len(groups), free)
	}
	rule, err := os.ReadFile(filepath.Join(groups[0], "blkio.throttle.write_iops_device"))
	must(t, err)
	if strings.TrimSpace(string(rule)) != d.device+" 7" {
		t.Errorf("the cgroup's limit: got %q, want 7 writes a second", rule)
	}
	must(t, heal())
	if groups, free := limited(); len(groups) > 0 || free == 0 {
		t.Errorf("after heal: got %d processes with a limit and %d without, want 0 and some", len(groups), free)
	}
	if _, err := os.Stat(groups[0]); !os.IsNotExist(err) {
		t.Errorf("the cgroup still exists: %v", err)
	}
}

// TestHealWhileProcessesStart: a process that starts others all the time leaves the cgroup with all of them.
func TestHealWhileProcessesStart(t *testing.T) {
	d, why := openDisk(".") // temporary files may be in memory
	if why != nil {
		return // TestSlowDisk tests what the report says then
	}
	shell := exec.Command("sh", "-c", "while :; do true | true; done")
	must(t, shell.Start())
	defer func() {
		_ = shell.Process.Kill()
		_ = shell.Wait() // it was killed
	}()
	for range 30 {
		before, err := filepath.Glob(filepath.Join(d.root, groupName+"*"))
		must(t, err)
		heal, err := d.slow(nil, 7)
		must(t, err)
		after, err := filepath.Glob(filepath.Join(d.root, groupName+"*"))
		must(t, err)
		group := after[slices.IndexFunc(after, func(g string) bool { return !slices.Contains(before, g) })]
		must(t, writeKernelFile(filepath.Join(group, "cgroup.procs"), fmt.Sprint(shell.Process.Pid)))
		eventually.True(t, "it starts another one", func() bool {
			pids, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
			return err == nil && len(strings.Fields(string(pids))) > 1
		})
		must(t, heal())
	}
}
