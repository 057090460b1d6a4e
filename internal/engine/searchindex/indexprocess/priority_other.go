//go:build unix && !linux

package indexprocess

import "syscall"

// SetNiceness gives this process a niceness.
func SetNiceness(niceness int) error {
	return syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness)
}

// PreferForOOM does nothing: only Linux has this.
func PreferForOOM() error { return nil }
