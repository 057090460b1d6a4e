package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dataDir is a data directory held by this process.
type dataDir struct {
	path string
	lock *os.File
}

// inUseError says that another process holds a directory.
type inUseError struct{ path string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by another rialto; stop it, or choose another --data", e.path)
}

// openDataDir makes the directory where it is missing, for its owner alone, and locks it: two servers on one directory would
// ruin it.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be written: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &inUseError{path}
		}
		return nil, fmt.Errorf("the data directory cannot be locked: %w", err)
	}
	return &dataDir{path: path, lock: lock}, nil
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

// Close lets the directory go.
func (d *dataDir) Close() error { return d.lock.Close() }
