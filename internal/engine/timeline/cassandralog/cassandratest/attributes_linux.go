package cassandratest

import "syscall"

// attributes make a node end with this process, even if that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
