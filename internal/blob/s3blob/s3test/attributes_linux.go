package s3test

import "syscall"

// attributes have the server end with this process, also when that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
