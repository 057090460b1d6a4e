package javatest

import "syscall"

// attributes make a server end with this process, even if that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
