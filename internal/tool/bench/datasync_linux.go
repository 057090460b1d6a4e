package bench

import (
	"os"
	"syscall"
)

// datasync syncs a file's data to the disk.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
