//go:build unix && !linux

package sqltest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
