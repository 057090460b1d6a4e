package s3test

import "syscall"

// attributes make the server end with this process, even if that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
