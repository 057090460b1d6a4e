package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate takes space for a part of a file.
func allocate(f *os.File, from, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, from, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return writeZeros(f, from, size)
	}
	return err
}
