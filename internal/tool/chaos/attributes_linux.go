package chaos

import "syscall"

// attributes make the kernel kill a child process when this process ends, even if this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
