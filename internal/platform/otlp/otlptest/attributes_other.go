//go:build unix && !linux

package otlptest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
