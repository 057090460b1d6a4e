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
	ip := at.IP.To4()
	if ip == nil {
		return 0
	}
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port)
	for range 3 { // a table that changes while it is read may lack a line
		if sockets := socketsAt(local); len(sockets) > 0 {
			return holderOf(sockets, pids)
		}
	}
	return 0
}

// socketsAt returns the open sockets with a local address, as links of /proc/PID/fd name them. There may be others that are closed: a port is used again
// for another peer.
func socketsAt(local string) map[string]bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil
	}
	sockets := map[string]bool{}
	for _, line := range strings.Split(string(table), "\n") {
		if f := strings.Fields(line); len(f) > 9 && f[1] == local && f[9] != "0" {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
	return sockets
}

// holderOf returns the first of some processes that has one of the sockets open, 0 if none has.
func holderOf(sockets map[string]bool, pids []int) int {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is valid
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && sockets[to] {
				return pid
			}
		}
	}
	return 0
}
