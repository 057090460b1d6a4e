package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// directory is the storage of a directory of backups.
type directory struct {
	dir     string
	lock    *os.File        // nil: a reader of a directory that has none
	touched map[string]bool // folders of new objects, which must be synced
}

// openDirectory opens a directory of backups for writing, and creates it if it is missing or empty. No other process may write it meanwhile.
func openDirectory(dir, dataDir string) (_ *directory, err error) {
	if err := checkOutside(dir, dataDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if !isRepository(dir) && slices.ContainsFunc(names, isForeign) {
		return nil, fmt.Errorf("%s has other files than backups: name an empty directory, or one with backups", dir)
	}
	d := &directory{dir: dir, touched: map[string]bool{}}
	if d.lock, err = lock(dir, syscall.LOCK_EX, os.O_CREATE|os.O_RDWR); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if !isRepository(dir) { // first: without it, the folders would be other files
		if err := os.WriteFile(filepath.Join(dir, markFile), []byte(markText), 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{objectsDir, manifestsDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	return d, errors.Join(d.removeIncomplete(), filecopy.SyncDir(dir))
}

// describeAbsence is the error of a directory that has no backups.
func describeAbsence(dir string) error {
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &absentError{dir + " has no backups of Rialto: there is no such directory"}
	case err != nil:
		return err
	case !slices.ContainsFunc(names, isForeign):
		return &absentError{dir + " has no backups of Rialto: it is empty"}
	}
	return fmt.Errorf("%s has no backups of Rialto: its file %s is missing", dir, markFile)
}

// isForeign reports whether a file of a directory that is no repository is not one that it may have before the first backup.
func isForeign(e fs.DirEntry) bool { return e.Name() != lockFile && e.Name() != "lost+found" }

func isRepository(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markFile))
	return err == nil
}

// checkOutside refuses a directory in the data directory, which a backup must outlive.
func checkOutside(dir, dataDir string) error {
	if dataDir == "" {
		return nil
	}
	d, err := resolve(dataDir)
	if err != nil {
		return err
	}
	b, err := resolve(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(d, b); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("the directory for backups %s is in the data directory %s: choose one outside, on another disk if possible", dir, dataDir)
	}
	return nil
}

// resolve returns the absolute path without symbolic links; its end may not exist.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// lock locks a directory of backups, until the file is closed or the process ends.
func lock(dir string, how, flags int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another backup, removal or restore uses %s: wait until it has ended", dir)
		}
		return nil, err
	}
	return f, nil
}

// openDirectoryForReading opens a directory of backups, which may be read-only. Without a lock, what is read may be removed meanwhile.
func openDirectoryForReading(dir string, locked bool) (*directory, error) {
	if !isRepository(dir) {
		return nil, describeAbsence(dir)
	}
	d := &directory{dir: dir}
	if !locked {
		return d, nil
	}
	var err error
	if d.lock, err = lock(dir, syscall.LOCK_SH, os.O_RDONLY); errors.Is(err, fs.ErrNotExist) { // a copy without it
		d.lock, err = nil, nil
	}
	return d, err
}

// String returns the path.
func (d *directory) String() string { return d.dir }

func (d *directory) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *directory) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// removeIncomplete removes what interrupted backups were writing.
func (d *directory) removeIncomplete() error {
	for _, folder := range []string{objectsDir, manifestsDir} {
		names, err := os.ReadDir(d.path(folder))
		if err != nil {
			return err
		}
		for _, e := range names {
			if strings.HasPrefix(e.Name(), newPrefix) {
				if err := os.Remove(filepath.Join(d.dir, folder, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// newFile is an object that is being written.
type newFile struct {
	*os.File
	of *directory
}

func (d *directory) create() (object, error) {
	f, err := os.CreateTemp(d.path(objectsDir), newPrefix)
	if err != nil {
		return nil, err
	}
	return &newFile{f, d}, nil
}

// commit syncs the contents before they have their name: then the name alone tells that they are there.
func (n *newFile) commit(_ context.Context, name string) error {
	if err := n.Sync(); err != nil {
		return err
	}
	path := n.of.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Rename(n.Name(), path); err != nil {
		return err
	}
	n.of.touched[filepath.Dir(path)] = true
	return n.Close()
}

func (n *newFile) abandon() error {
	err := n.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	if removed := os.Remove(n.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// put makes the objects' names durable first.
func (d *directory) put(_ context.Context, name string, b []byte) error {
	for dir := range d.touched {
		if err := filecopy.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := filecopy.SyncDir(d.path(objectsDir)); err != nil {
		return err
	}
	path := d.path(name)
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), newPrefix+filepath.Base(path)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return errors.Join(filecopy.SyncDir(filepath.Dir(path)), filecopy.SyncDir(d.dir))
}

func (d *directory) open(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err // a nil interface
	}
	return f, nil
}

func (d *directory) list(ctx context.Context, folder string, each func(name string, size int64) error) error {
	return filepath.WalkDir(d.path(folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		return errors.Join(ctx.Err(), each(filepath.ToSlash(name), info.Size()))
	})
}

// remove makes the removal of a manifest durable, before its objects are removed.
func (d *directory) remove(_ context.Context, name string) error {
	if err := os.Remove(d.path(name)); err != nil || !strings.HasPrefix(name, manifestsDir+"/") {
		return err
	}
	return filecopy.SyncDir(d.path(manifestsDir))
}
