//go:build unix && !linux

package cassandratest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
