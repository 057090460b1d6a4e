package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Names in a directory of backups, or in a bucket.
const (
	markFile     = "RIALTO-BACKUPS" // its text says what the directory is
	lockFile     = "LOCK"           // of a directory
	objectsDir   = "objects"
	manifestsDir = "backups"
	newPrefix    = "new-" // of files that are being written
	suffix       = ".json"
)

const markText = "backups of a Rialto data directory, format 1: rialto backup --to DIR --list\n"

// storage has the files of a repository, under names with slashes: a directory, or a bucket. One goroutine uses it.
type storage interface {
	// String names it for operators. A slash and the name of a file follow for that file.
	String() string
	// create begins an object, whose name is known when it is written.
	create() (object, error)
	// put stores a file whole and durably, after all objects that were committed before.
	put(ctx context.Context, name string, b []byte) error
	// open fails with fs.ErrNotExist if there is no such file.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// list calls each with the names and sizes of all files in a folder, and of those below it.
	list(ctx context.Context, folder string, each func(name string, size int64) error) error
	remove(ctx context.Context, name string) error
	// close lets other processes write.
	close() error
}

// object is a content that is being written. It ends with commit or abandon.
type object interface {
	io.Writer
	// commit gives it its name, and stores it durably, but perhaps for the name. After an error, abandon follows.
	commit(ctx context.Context, name string) error
	abandon() error
}

// repository is where backups are.
type repository struct {
	storage
	// partSize is the most that an object has, in bytes before encryption; 0: a file is one object. The database has its own parts.
	partSize int64
	known    map[string]int64 // sizes of the objects, of a repository that is written
}

// openRepository opens a directory or a bucket for writing, and makes an empty one a repository. No other process may write it meanwhile.
func openRepository(ctx context.Context, c Config, dataDir string) (_ *repository, err error) {
	if c.Directory == "" {
		return nil, errors.New("no directory for backups: name one with --to, or set backup.directory of the server")
	}
	r := &repository{known: map[string]int64{}}
	if isBucket(c.Directory) {
		r.storage, err = openBucket(ctx, c)
		r.partSize = bucketPart
	} else {
		r.storage, err = openDirectory(c.Directory, dataDir)
	}
	if err != nil {
		return nil, err
	}
	err = r.list(ctx, objectsDir, func(name string, size int64) error {
		if object := path.Base(name); len(object) > 2 && name == objectName(object) {
			r.known[object] = size
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// absentError is the error of a place that has no backups, and nothing else: it is missing or empty, as before the first backup.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// openForReading opens a directory or a bucket with backups, which may be read-only. Unless locked, what is read may be removed meanwhile.
func openForReading(ctx context.Context, c Config, locked bool) (r *repository, err error) {
	r = &repository{}
	if isBucket(c.Directory) {
		r.storage, err = openBucketForReading(ctx, c)
	} else {
		r.storage, err = openDirectoryForReading(c.Directory, locked)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func objectName(object string) string { return path.Join(objectsDir, object[:2], object) }

func manifestName(id string) string { return path.Join(manifestsDir, id+suffix) }

// pathOf names a file for operators.
func (r *repository) pathOf(name string) string { return r.String() + "/" + name }

// has reports whether the repository has an object, as far as its name and its size tell.
func (r *repository) has(object string, stored int64) bool {
	size, ok := r.known[object]
	return ok && size == stored
}

// ids lists the backups, the oldest first.
func (r *repository) ids(ctx context.Context) (ids []string, err error) {
	err = r.list(ctx, manifestsDir, func(name string, _ int64) error {
		if id, ok := strings.CutSuffix(path.Base(name), suffix); ok && !strings.HasPrefix(id, newPrefix) {
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids)
	return ids, err
}

func (r *repository) manifest(ctx context.Context, id string) (*Manifest, error) {
	name := manifestName(id)
	f, err := r.open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no backup %s: rialto backup --to %s --list shows all", r, id, r)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("the manifest %s cannot be used: %w. Use another backup", r.pathOf(name), err)
	}
	return m, nil
}

// commit writes the manifest: from then on there is the backup.
func (r *repository) commit(ctx context.Context, m *Manifest) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	return r.put(ctx, manifestName(m.ID), b)
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

// List returns the backups in a directory or a bucket, the oldest first.
func List(ctx context.Context, c Config) (_ []Summary, err error) {
	r, err := openForReading(ctx, c, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ids, err := r.ids(ctx)
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, id := range ids {
		s := Summary{ID: id}
		m, err := r.manifest(ctx, id)
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

// latestCut returns the moment of the newest backup of a data directory that can be read, in milliseconds since 1970; 0: there is none.
func latestCut(ctx context.Context, c Config, source string) (cutMs int64, err error) {
	r, err := openForReading(ctx, c, false) // a manifest is there whole, or not at all
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ids, err := r.ids(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range slices.Backward(ids) {
		m, err := r.manifest(ctx, id)
		if err == nil && m.Source == source {
			return m.CutMs, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 0, nil
}

// Remove removes backups, and then the objects that no other backup has. It returns how many objects and bytes it removed.
func Remove(ctx context.Context, c Config, remove []string) (objects int, bytes int64, err error) {
	reader, err := openForReading(ctx, c, false) // it creates nothing
	if err != nil {
		return 0, 0, err
	}
	if err := reader.close(); err != nil {
		return 0, 0, err
	}
	r, err := openRepository(ctx, c, "")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ids, err := r.ids(ctx)
	if err != nil {
		return 0, 0, err
	}
	needed := map[string]bool{}
	for _, id := range ids {
		if slices.Contains(remove, id) {
			continue
		}
		m, err := r.manifest(ctx, id)
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
			return 0, 0, fmt.Errorf("nothing was removed: %s has no backup %q", r, id)
		}
	}
	for _, id := range remove { // first: without its objects a manifest would promise what is gone
		if err := r.remove(ctx, manifestName(id)); err != nil {
			return 0, 0, err
		}
	}
	return r.removeObjects(ctx, needed)
}

// removeObjects removes the objects that are not needed.
func (r *repository) removeObjects(ctx context.Context, needed map[string]bool) (objects int, bytes int64, err error) {
	for object, size := range r.known {
		if needed[object] {
			continue
		}
		if err := r.remove(ctx, objectName(object)); err != nil {
			return objects, bytes, err
		}
		objects, bytes = objects+1, bytes+size
	}
	return objects, bytes, nil
}

// latest returns the id of a backup, or that of the newest.
func (r *repository) latest(ctx context.Context, id string) (string, error) {
	ids, err := r.ids(ctx)
	if err != nil {
		return "", err
	}
	if id == "" && len(ids) == 0 {
		return "", fmt.Errorf("%s has no complete backup", r)
	}
	if id == "" {
		id = ids[len(ids)-1]
	}
	return id, nil
}
