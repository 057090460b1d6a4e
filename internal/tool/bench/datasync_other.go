//go:build !linux

package bench

import "os"

// datasync syncs a file's data, and its metadata, because this system has no fdatasync.
func datasync(f *os.File) error { return f.Sync() }
