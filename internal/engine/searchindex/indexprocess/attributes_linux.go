package indexprocess

import "syscall"

// attributes of the process: the kernel kills it when the thread that started it ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
