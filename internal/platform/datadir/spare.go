package datadir

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// SpareFile is the name of the file that reserves disk space in a data directory.
const SpareFile = "SPARE"

// releaseStep is how many bytes are released at a time. It is small, since another program may take them.
const releaseStep = 1 << 20

// Spare reserves disk space in a file, for writes that must not fail on a full disk: those of the timelines' write-ahead logs and manifest, whose
// failure ends the process, and login and logout. It is refilled when the disk has space again. All methods are safe for concurrent use.
type Spare struct {
	file   *os.File
	size   int64
	free   func() (uint64, error)
	logger *slog.Logger

	mu        sync.Mutex // guards held and told
	allocated int64
	reported  bool // that it is in use
}

// keepFree bytes of the disk stay free when the spare space is refilled.
const keepFree = 128 << 20

func openSpare(dir string, size int64, logger *slog.Logger) (*Spare, error) {
	s := &Spare{size: size, logger: logger, free: func() (uint64, error) { return freeBytes(dir) }}
	var err error
	if s.file, err = os.OpenFile(filepath.Join(dir, SpareFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	info, err := s.file.Stat()
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	if s.allocated = info.Size(); s.allocated > size {
		s.allocated = size
		if err := s.file.Truncate(size); err != nil {
			return nil, errors.Join(err, s.file.Close())
		}
	}
	s.Restore()
	return s, nil
}

func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// Release frees a part of the spare space and reports whether there was any.
func (s *Spare) Release() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.allocated == 0 {
		return false
	}
	left := max(0, s.allocated-releaseStep)
	if err := s.file.Truncate(left); err != nil {
		s.logger.Error("the spare disk space cannot be used", "error", err)
		return false
	}
	s.allocated = left
	if !s.reported {
		s.logger.Error("the disk is full and the spare space is in use: free some space", "file", s.file.Name(), "left_bytes", left)
		s.reported = true
	}
	return true
}

// Restore refills the spare space if the disk has enough for it and for others. It holds the lock while it allocates, because a concurrent
// Release would truncate the space being allocated. Release does not wait long: it is called on a full disk, where Restore does not
// allocate.
func (s *Spare) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.allocated >= s.size {
		return
	}
	if free, err := s.free(); err != nil || free < uint64(s.size-s.allocated)+keepFree {
		return
	}
	if err := allocate(s.file, s.allocated, s.size-s.allocated); err != nil {
		s.logger.Warn("the spare disk space could not be reserved", "error", err)
		return
	}
	if s.reported {
		s.logger.Info("the spare disk space is reserved again")
	}
	s.allocated, s.reported = s.size, false
}

// writeZeros allocates space for a part of a file if the file system cannot do so itself.
func writeZeros(f *os.File, from, size int64) error {
	zeros := make([]byte, 1<<20)
	for start := from; size > 0; {
		n := min(size, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], from); err != nil {
			return errors.Join(err, f.Truncate(start))
		}
		from, size = from+n, size-n
	}
	return nil
}

// Close closes the file and keeps the space.
func (s *Spare) Close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}
