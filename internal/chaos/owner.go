package chaos

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// owner gives the process, of some, whose socket an address of loopback is; 0 where it is none of theirs. It asks the kernel
// (/proc), so that a proxy knows who calls whatever is spoken; elsewhere than on Linux the answer is always 0.
func owner(from net.Addr, pids []int) int {
	at, ok := from.(*net.TCPAddr)
	if !ok {
		return 0
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0
	}
	ip := at.IP.To4()
	if ip == nil {
		return 0
	}
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port)
	socket := ""
	for _, line := range strings.Split(string(table), "\n") {
		if f := strings.Fields(line); len(f) > 9 && f[1] == local {
			socket = "socket:[" + f[9] + "]"
			break
		}
	}
	if socket == "" {
		return 0
	}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is a good one
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && to == socket {
				return pid
			}
		}
	}
	return 0
}
