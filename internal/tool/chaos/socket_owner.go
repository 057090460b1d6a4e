package chaos

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// socketOwner returns which of some processes owns a loopback socket, or 0. It reads /proc, so a proxy can identify its caller for any
// protocol. On systems other than Linux it always returns 0.
func socketOwner(from net.Addr, pids []int) int {
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
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is valid
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && to == socket {
				return pid
			}
		}
	}
	return 0
}
