package diskblob

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginToStore asks the system to begin to write a part of a file to the disk. It promises nothing: what cannot be written fails
// the sync. It may wait while the queue of the disk is full.
func beginToStore(f *os.File, from, size int64) {
	_ = unix.SyncFileRange(int(f.Fd()), from, size, unix.SYNC_FILE_RANGE_WRITE) // a file system may have no such call
}
