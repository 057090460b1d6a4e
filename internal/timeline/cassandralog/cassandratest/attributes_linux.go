package cassandratest

import "syscall"

// attributes have a node end with this process, also when that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
