//go:build unix && !linux

package sqltest

import (
	"bytes"
	"os/exec"
	"strconv"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// children returns the child processes of a process.
func children(pid int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		return nil, err
	}
	var found []int
	for line := range bytes.Lines(out) {
		words := bytes.Fields(line)
		if len(words) != 2 || string(words[1]) != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(string(words[0])); err == nil {
			found = append(found, child)
		}
	}
	return found, nil
}
