//go:build !linux

package indexprocess

import "syscall"

// attributes of the process: it ends with its input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
