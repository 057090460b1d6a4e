//go:build unix && !linux

package javatest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
