package chaos

import "syscall"

// attributes have a child end with this process, also when that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
