// Package diskblob keeps files in a directory of the machine.
package diskblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// Store keeps files in a directory.
type Store struct {
	dir string

	mu       sync.RWMutex // guards retained; held while a file is removed
	retained string       // deleted files are moved here; empty: they are removed

	listing listing // guarded by its own lock
}

// Open opens or creates a store in dir. It removes incomplete files that a crash left.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir}
	if err := os.MkdirAll(s.part(sessionsDir), 0o700); err != nil {
		return nil, fmt.Errorf("files in %s: %w", dir, err)
	}
	left, err := os.ReadDir(s.part(""))
	if err != nil {
		return nil, fmt.Errorf("files in %s: %w", dir, err)
	}
	for _, f := range left {
		if f.Name() == sessionsDir {
			continue // they outlive the process
		}
		if err := os.Remove(s.part(f.Name())); err != nil {
			return nil, fmt.Errorf("files in %s: %w", dir, err)
		}
	}
	return s, nil
}

// View returns a store for reading, which changes nothing in dir.
func View(dir string) *Store { return &Store{dir: dir} }

func (s *Store) part(name string) string { return filepath.Join(s.dir, partDir, name) }

func (s *Store) path(key string) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

// Put writes a temporary file, syncs it, and renames it.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) (err error) {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	f, err := os.CreateTemp(s.part(""), "put-")
	if err != nil {
		return classify(err)
	}
	defer func() {
		if err != nil {
			err = classify(errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if err := receive(ctx, f, 0, r, size); err != nil {
		return err
	}
	dir := filepath.Dir(s.path(key))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path(key)); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDirs(s.dir, dir)
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// syncDirs makes names durable, from dir up to the root of the store.
func syncDirs(root, dir string) error {
	for {
		if err := filecopy.SyncDir(dir); err != nil {
			return err
		}
		if dir == root || len(dir) <= len(root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func classify(err error) error {
	if keyConflict(err) {
		return blob.ErrKey
	}
	return errs.OfDisk(err)
}

// keyConflict reports whether a key conflicts with another: one needs a folder where the other needs a file.
func keyConflict(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}

// Open opens a file.
func (s *Store) Open(_ context.Context, key string) (io.ReadSeekCloser, int64, error) {
	if !blob.ValidKey(key) {
		return nil, 0, blob.ErrKey
	}
	f, err := os.Open(s.path(key))
	if errors.Is(err, fs.ErrNotExist) || keyConflict(err) {
		return nil, 0, blob.ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = blob.ErrNotFound
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// ReadRange reads a part of a file.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	f, size, err := s.Open(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, length), f}, size, nil
}

// Delete removes a file.
func (s *Store) Delete(_ context.Context, key string) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	err := s.remove(key)
	if errors.Is(err, fs.ErrNotExist) || keyConflict(err) {
		return nil
	}
	return err
}
