package chaos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"golang.org/x/sys/unix"
)

// disk that holds a folder, and which the kernel can be told to be slow for some processes (cgroups of the first version, as root).
type disk struct {
	root   string // of the groups
	device string // major:minor
}

// groupName is what groups' names begin with.
const groupName = "rialto-chaos-"

// openDisk finds it. Its error is why it cannot be slow.
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
	// Of a part of a disk, the disk.
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
	if left, err := filepath.Glob(filepath.Join(d.root, groupName+"*")); err == nil { // by runs that were killed
		for _, group := range left {
			if s, err := os.Stat(group); err == nil && time.Since(s.ModTime()) > time.Minute {
				_ = os.Remove(group) // one that is in use stays
			}
		}
	}
	heal, err := d.slow(nil, slowWrites) // whether it may
	if err != nil {
		return nil, err
	}
	return d, heal()
}

// slow lets a server write so often in a second, until it is healed; nil is none.
func (d *disk) slow(server *sqltest.Server, writes int) (heal func() error, err error) {
	group := filepath.Join(d.root, groupName+strings.ToLower(rand.Text()))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	heal = func() error { // whoever is in it goes to where all are that are told nothing else
		pids, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		for _, pid := range strings.Fields(string(pids)) {
			err = errors.Join(err, put(filepath.Join(d.root, "cgroup.procs"), pid))
		}
		return errors.Join(err, os.Remove(group))
	}
	err = put(filepath.Join(group, "blkio.throttle.write_iops_device"), fmt.Sprintf("%s %d", d.device, writes))
	for range 2 { // the first first, so that what it begins is in it as well
		if err != nil || server == nil {
			break
		}
		var pids []int
		if pids, err = server.Processes(); err != nil {
			break
		}
		for _, pid := range pids {
			err = errors.Join(err, put(filepath.Join(group, "cgroup.procs"), fmt.Sprint(pid)))
		}
	}
	if err != nil {
		return nil, errors.Join(err, heal())
	}
	return heal, nil
}

// put writes to a file of the kernel's. Of a process that has ended there is nothing to say.
func put(path, what string) error {
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
