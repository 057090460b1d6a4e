//go:build !linux

package bench

import "os"

// datasync brings a file's bytes to the disk, and more than that where there is no fdatasync.
func datasync(f *os.File) error { return f.Sync() }
