//go:build unix && !linux

package s3test

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
