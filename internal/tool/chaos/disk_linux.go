package chaos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"golang.org/x/sys/unix"
)

// disk is a block device that the kernel can throttle for some processes (cgroups v1, as root).
type disk struct {
	root   string // of the cgroups
	device string // major:minor
}

// groupName is the prefix of cgroup names.
const groupName = "rialto-chaos-"

// A group is tried to be removed for ten seconds.
const (
	healAttempts = 100
	healPause    = 100 * time.Millisecond
)

// openDisk returns the disk that contains a folder. The error says why it cannot be throttled.
func openDisk(folder string) (*disk, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	d := &disk{}
	for _, line := range strings.Split(string(mounts), "\n") {
		if w := strings.Fields(line); len(w) > 3 && w[2] == "cgroup" && strings.Contains(","+w[3]+",", ",blkio,") {
			d.root = w[1]
		}
	}
	if d.root == "" {
		return nil, errors.New("no cgroup has the controller blkio")
	}
	var s unix.Stat_t
	if err := unix.Stat(folder, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	// If it is a partition, use the whole disk.
	block, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev)))
	if err != nil {
		return nil, fmt.Errorf("%s is on no block device: %w", folder, err)
	}
	if _, err := os.Stat(filepath.Join(block, "partition")); err == nil {
		block = filepath.Dir(block)
	}
	b, err := os.ReadFile(filepath.Join(block, "dev"))
	if err != nil {
		return nil, err
	}
	d.device = strings.TrimSpace(string(b))
	if left, err := filepath.Glob(filepath.Join(d.root, groupName+"*")); err == nil { // of runs that were killed
		for _, group := range left {
			if s, err := os.Stat(group); err == nil && time.Since(s.ModTime()) > time.Minute {
				_ = os.Remove(group) // fails if it is in use, then it stays
			}
		}
	}
	heal, err := d.slow(nil, slowWrites) // try whether it is permitted
	if err != nil {
		return nil, err
	}
	return d, heal()
}

// slow limits a server to a number of writes a second until heal is called. A nil server is only a trial.
func (d *disk) slow(server *sqltest.Server, writes int) (heal func() error, err error) {
	group := filepath.Join(d.root, groupName+strings.ToLower(rand.Text()))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	heal = func() (err error) {
		// Again where it is in use: a process of the group may have started another one meanwhile, and one that has ended is in it until it is waited for.
		for range healAttempts {
			if err = d.empty(group); err == nil {
				err = os.Remove(group)
			}
			if !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(healPause)
		}
		return err
	}
	err = writeKernelFile(filepath.Join(group, "blkio.throttle.write_iops_device"), fmt.Sprintf("%s %d", d.device, writes))
	for range 2 { // twice, because a process may have started another one meanwhile
		if err != nil || server == nil {
			break
		}
		var pids []int
		if pids, err = server.Processes(); err != nil {
			break
		}
		for _, pid := range pids {
			err = errors.Join(err, writeKernelFile(filepath.Join(group, "cgroup.procs"), fmt.Sprint(pid)))
		}
	}
	if err != nil {
		return nil, errors.Join(err, heal())
	}
	return heal, nil
}

// empty moves the processes of a group to the root group.
func (d *disk) empty(group string) error {
	pids, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	for _, pid := range strings.Fields(string(pids)) {
		err = errors.Join(err, writeKernelFile(filepath.Join(d.root, "cgroup.procs"), pid))
	}
	return err
}

// writeKernelFile writes to a kernel file. A process that has ended is not an error.
func writeKernelFile(path, what string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(what)
	if errors.Is(err, unix.ESRCH) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
