package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// Names in a directory of backups.
const (
	markFile     = "RIALTO-BACKUPS" // its text says what the directory is
	lockFile     = "LOCK"
	objectsDir   = "objects"
	manifestsDir = "backups"
	newPrefix    = "new-" // of files that are being written
	suffix       = ".json"
)

const markText = "backups of a Rialto data directory, format 1: rialto backup --to DIR --list\n"

// repository is a directory of backups.
type repository struct {
	dir  string
	lock *os.File
}

// openRepository opens a directory of backups for writing, and creates it if it is missing or empty. No other process may write it meanwhile.
func openRepository(dir, dataDir string) (_ *repository, err error) {
	if dir == "" {
		return nil, errors.New("no directory for backups: name one with --to, or set backup.directory of the server")
	}
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
	isNew := func(e fs.DirEntry) bool { return e.Name() == lockFile || e.Name() == "lost+found" }
	if !isRepository(dir) && slices.ContainsFunc(names, func(e fs.DirEntry) bool { return !isNew(e) }) {
		return nil, fmt.Errorf("%s has other files than backups: name an empty directory, or one with backups", dir)
	}
	r := &repository{dir: dir}
	if r.lock, err = lock(dir, syscall.LOCK_EX, os.O_CREATE|os.O_RDWR); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
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
	return r, errors.Join(r.removeIncomplete(), filecopy.SyncDir(dir))
}

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

// openForReading opens a directory of backups, which may be read-only.
func openForReading(dir string) (*repository, error) {
	if !isRepository(dir) {
		return nil, fmt.Errorf("%s has no backups of Rialto: its file %s is missing", dir, markFile)
	}
	r := &repository{dir: dir}
	var err error
	if r.lock, err = lock(dir, syscall.LOCK_SH, os.O_RDONLY); errors.Is(err, fs.ErrNotExist) { // a copy without it
		r.lock, err = nil, nil
	}
	return r, err
}

func (r *repository) close() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}

func (r *repository) objectPath(object string) string {
	return filepath.Join(r.dir, objectsDir, object[:2], object)
}

// removeIncomplete removes what interrupted backups were writing.
func (r *repository) removeIncomplete() error {
	for _, dir := range []string{objectsDir, manifestsDir} {
		names, err := os.ReadDir(filepath.Join(r.dir, dir))
		if err != nil {
			return err
		}
		for _, e := range names {
			if strings.HasPrefix(e.Name(), newPrefix) {
				if err := os.Remove(filepath.Join(r.dir, dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// commit makes the objects' names durable, and then writes the manifest: from then on there is the backup.
func (r *repository) commit(m *Manifest, touched map[string]bool) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	for dir := range touched {
		if err := filecopy.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := filecopy.SyncDir(filepath.Join(r.dir, objectsDir)); err != nil {
		return err
	}
	dir := filepath.Join(r.dir, manifestsDir)
	f, err := os.OpenFile(filepath.Join(dir, newPrefix+m.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, m.ID+suffix)); err != nil {
		return err
	}
	return errors.Join(filecopy.SyncDir(dir), filecopy.SyncDir(r.dir))
}

// ids lists the backups, the oldest first.
func (r *repository) ids() (ids []string, err error) {
	names, err := os.ReadDir(filepath.Join(r.dir, manifestsDir))
	for _, e := range names {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

func (r *repository) manifest(id string) (*Manifest, error) {
	path := filepath.Join(r.dir, manifestsDir, id+suffix)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no backup %s: rialto backup --to %s --list shows all", r.dir, id, r.dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("the manifest %s cannot be used: %w. Use another backup", path, err)
	}
	return m, nil
}

// Summary of a backup.
type Summary struct {
	ID        string
	CutMs     int64
	Files     int
	Bytes     int64
	Encrypted bool
	// Err says why the backup cannot be used.
	Err error
}

// List returns the backups in a directory, the oldest first.
func List(dir string) (_ []Summary, err error) {
	r, err := openForReading(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, id := range ids {
		s := Summary{ID: id}
		m, err := r.manifest(id)
		if s.Err = err; err == nil {
			s.CutMs, s.Files, s.Encrypted = m.CutMs, len(m.Files), len(m.Recipients) > 0
			for _, f := range m.Files {
				s.Bytes += f.Size
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// Remove removes backups, and then the objects that no other backup has. It returns how many objects and bytes it removed.
func Remove(dir string, remove []string) (objects int, bytes int64, err error) {
	if !isRepository(dir) {
		return 0, 0, fmt.Errorf("%s has no backups of Rialto: its file %s is missing", dir, markFile)
	}
	r, err := openRepository(dir, "")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ids, err := r.ids()
	if err != nil {
		return 0, 0, err
	}
	needed := map[string]bool{}
	for _, id := range ids {
		if slices.Contains(remove, id) {
			continue
		}
		m, err := r.manifest(id)
		if err != nil { // it is unknown what it needs
			return 0, 0, fmt.Errorf("nothing was removed: %w, or remove it too", err)
		}
		for _, f := range m.Files {
			for _, p := range f.Parts {
				needed[p.Object] = true
			}
		}
	}
	for _, id := range remove {
		if !slices.Contains(ids, id) {
			return 0, 0, fmt.Errorf("nothing was removed: %s has no backup %q", dir, id)
		}
	}
	for _, id := range remove { // first: without its objects a manifest would promise what is gone
		if err := os.Remove(filepath.Join(dir, manifestsDir, id+suffix)); err != nil {
			return 0, 0, err
		}
	}
	if err := filecopy.SyncDir(filepath.Join(dir, manifestsDir)); err != nil {
		return 0, 0, err
	}
	return r.removeObjects(needed)
}

// removeObjects removes the objects that are not needed.
func (r *repository) removeObjects(needed map[string]bool) (objects int, bytes int64, err error) {
	err = filepath.WalkDir(filepath.Join(r.dir, objectsDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || needed[e.Name()] {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		objects, bytes = objects+1, bytes+info.Size()
		return os.Remove(path)
	})
	return objects, bytes, err
}

// latest returns the id of a backup, or that of the newest.
func (r *repository) latest(id string) (string, error) {
	ids, err := r.ids()
	if err != nil {
		return "", err
	}
	if id == "" && len(ids) == 0 {
		return "", fmt.Errorf("%s has no complete backup", r.dir)
	}
	if id == "" {
		id = ids[len(ids)-1]
	}
	return id, nil
}
