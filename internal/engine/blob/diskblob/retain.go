package diskblob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// partDir has files that are not complete. Their names are no keys.
const partDir = ".part"

// Retain has Delete move files into another directory of the same file system, until stop is called: a backup copies what it has listed although it
// is deleted meanwhile. Who calls it removes that directory. There is one such directory at a time.
func (s *Store) Retain(dir string) (stop func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retained != "" {
		return nil, errors.New("deleted files are retained already")
	}
	s.retained = dir
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retained = ""
	}, nil
}

// remove removes a file, or moves it to where deleted files are retained.
func (s *Store) remove(key string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.retained == "" {
		return os.Remove(s.path(key))
	}
	if info, err := os.Lstat(s.path(key)); err != nil {
		return err
	} else if info.IsDir() { // of longer keys
		return fs.ErrExist
	}
	to := filepath.Join(s.retained, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(s.path(key), to)
}

// File is a file of a store, for a backup.
type File struct {
	Name string // relative to the store's directory, with slashes
	Path string // where the file was when it was listed
	Info fs.FileInfo
}

// ListFiles lists the files of a store's directory: complete ones, and those that are stored in parts. A directory that does not exist has none. A file
// that disappears meanwhile is left out.
func ListFiles(dir string, do func(File) error) error {
	// With the separator, the walk follows a symbolic link to a directory elsewhere.
	root := dir + string(filepath.Separator)
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return nil
		}
		if filepath.Dir(name) == partDir { // a file that is being stored
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		return do(File{Name: filepath.ToSlash(name), Path: path, Info: info})
	})
}
