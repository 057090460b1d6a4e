package sqltest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// attributes make the kernel kill a child process when this process ends, even if this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }

// children returns the child processes of a process.
func children(pid int) ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		// 12 (name, which may contain anything) S 1 …
		words := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(words) < 2 || string(words[1]) != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, child)
		}
	}
	return found, nil
}
