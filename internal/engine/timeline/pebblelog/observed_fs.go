package pebblelog

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	"golang.org/x/sys/unix"
)

// WALObserver stores how far the write-ahead logs are synced, outside of the log itself. If a log is missing or truncated at the next
// start, the difference shows it. Errors are logged and have no other effect.
type WALObserver interface {
	// WALSynced reports that a log is durable up to a position. The report itself need not be durable.
	WALSynced(log, position uint64) error
	// WALsObsolete reports that a log and all before it are about to be removed. The report is durable when it returns.
	WALsObsolete(log uint64) error
}

// Spare is disk space that is reserved for writes that must not fail.
type Spare interface {
	// Release frees some of it and reports whether there was any.
	Release() bool
}

// observedFS is the file system that Pebble uses. It observes the creation and removal of write-ahead logs. On a full disk it releases spare
// space for writes whose failure would end the process. Writes of tables wait: Pebble retries them.
type observedFS struct {
	vfs.FS
	dir        string // of the log; files elsewhere, of a copy, are not observed
	readOnly   bool
	positions  WALObserver // may be nil
	spare      Spare       // may be nil
	markFull   func()      // called when the disk is found full
	inMemory   bool        // files are kept in memory
	currentLog atomic.Uint64
	corrupt    corruptFiles
}

// isOwn reports whether a file is in the log's directory.
func (f *observedFS) isOwn(path string) bool { return f.PathDir(path) == f.PathJoin(f.dir) }

// logNumber returns the number of a write-ahead log. ok is false for other files.
func (f *observedFS) logNumber(path string) (uint64, bool) {
	if !f.isOwn(path) {
		return 0, false
	}
	n, _, ok := wal.ParseLogFilename(f.PathBase(path))
	return uint64(n), ok
}

// needsSpare reports whether a write to a file must not fail: the process would end.
func (f *observedFS) needsSpare(name string) bool {
	return f.isOwn(name) && !strings.HasSuffix(name, ".sst")
}

func (f *observedFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	if f.inMemory {
		file = unallocatedFile{file}
	}
	if f.spare == nil || !f.needsSpare(name) {
		return file, nil
	}
	return &spareFile{File: file, files: f}, nil
}

// unallocatedFile is a file in memory. On a disk, preallocation saves syncs from writing the file's size. In memory it saves nothing, and takes
// all of the memory that a write-ahead log may need one day.
type unallocatedFile struct{ vfs.File }

// Preallocate does nothing.
func (unallocatedFile) Preallocate(offset, length int64) error { return nil }

// Open opens a file for reading.
func (f *observedFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return f.corrupt.wrap(name, file)
}

// Create creates a file, with spare space if the disk has none.
func (f *observedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	var file vfs.File
	err := f.retryWithSpare(f.needsSpare(name), func() (err error) {
		file, err = f.FS.Create(name, category)
		return err
	})
	if n, ok := f.logNumber(name); ok && err == nil {
		f.currentLog.Store(n)
	}
	return f.wrap(name, file, err)
}

// ReuseForWrite turns an old write-ahead log into a new one.
func (f *observedFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.obsolete(old); err != nil {
		return nil, err
	}
	file, err := f.FS.ReuseForWrite(old, name, category)
	if n, ok := f.logNumber(name); ok && err == nil {
		f.currentLog.Store(n)
	}
	return f.wrap(name, file, err)
}

// Lock does nothing for a read-only log: its disk may be read-only, and the lock of the data directory keeps servers away.
func (f *observedFS) Lock(name string) (io.Closer, error) {
	if f.readOnly {
		return noLock{}, nil
	}
	return f.FS.Lock(name)
}

type noLock struct{}

// Close does nothing.
func (noLock) Close() error { return nil }

// Remove removes a file.
func (f *observedFS) Remove(name string) error {
	if err := f.obsolete(name); err != nil {
		return err
	}
	f.corrupt.remove(name)
	return f.FS.Remove(name)
}

// Rename renames a file, with spare space if the disk has none.
func (f *observedFS) Rename(old, name string) error {
	return f.retryWithSpare(f.needsSpare(name), func() error { return f.FS.Rename(old, name) })
}

func (f *observedFS) obsolete(name string) error {
	if n, ok := f.logNumber(name); ok && f.positions != nil {
		return f.positions.WALsObsolete(n)
	}
	return nil
}

// maxReleases bounds how often one operation releases spare space: another program may take it.
const maxReleases = 1000

// retryWithSpare repeats an operation that found no space while there is spare space to release.
func (f *observedFS) retryWithSpare(may bool, do func() error) error {
	err := do()
	for n := 0; err != nil && errors.Is(err, unix.ENOSPC); n++ {
		f.markFull()
		if !may || f.spare == nil || n == maxReleases || !f.spare.Release() {
			return err
		}
		err = do()
	}
	return err
}

// spareFile is a file whose writes may use the spare space. A failed sync is not repeated: the kernel may have dropped the dirty pages.
type spareFile struct {
	vfs.File
	files *observedFS
}

// Write writes all of b, in several steps if the disk was full in between.
func (s *spareFile) Write(b []byte) (written int, err error) {
	err = s.files.retryWithSpare(true, func() error {
		n, err := s.File.Write(b[written:])
		written += n
		return err
	})
	return written, err
}

// WriteAt is Write at an offset.
func (s *spareFile) WriteAt(b []byte, at int64) (written int, err error) {
	err = s.files.retryWithSpare(true, func() error {
		n, err := s.File.WriteAt(b[written:], at+int64(written))
		written += n
		return err
	})
	return written, err
}
