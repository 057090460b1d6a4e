package otlptest

import "syscall"

// attributes make the collector end with this process, even if that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
