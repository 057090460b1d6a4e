//go:build !linux

package datadir

import "os"

// allocate takes space for a part of a file.
func allocate(f *os.File, from, size int64) error { return writeZeros(f, from, size) }
