// Package backup copies a data directory to a directory of backups, or to a bucket in S3, while a server uses it, and restores it.
//
// A backup is one cut over all stores (datadir.Stores.Cut): what a killed process would have left at that moment. Afterwards the copies of the stores
// are read at a bounded rate. A directory of backups, or a bucket, has each content once, named by its hash, and a manifest for each backup, written last: a backup
// that was interrupted has none, and counts for nothing. Tables of the timelines and users' files never change under their names, so those that an
// earlier backup has are not read again. docs/formats/backup.md has the bytes.
//
// A Service may be used by many goroutines; of the functions, two must not work on one directory or bucket at once, which a lock ensures.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"golang.org/x/sys/unix"
)

// Config of backups of the data directory.
type Config struct {
	// Directory of the backups that rialto backup asks a running server for; default none: they are refused. It must not be in the data
	// directory, and should be on another disk. s3://BUCKET/PREFIX is a bucket, whose server is backup.s3.
	Directory string `yaml:"directory"`
	// S3 is the server of the bucket, if the directory is one.
	S3 S3 `yaml:"s3"`
	// Recipients are public keys of age (age1…): contents of backups are encrypted for their owners. rialto backup --new-key makes a pair. Default
	// none: backups are not encrypted.
	Recipients []string `yaml:"recipients"`
	// BytesPerSecond bounds how fast a backup reads, so that the disk has time for messages. 0 is 32 MiB.
	BytesPerSecond int `yaml:"bytes_per_second"`
}

const defaultRate = 32 << 20

// Check returns what is wrong with the settings of a server with a data directory, which need not exist.
func (c Config) Check(dataDir string) error {
	if _, err := recipientsOf(c.Recipients); err != nil {
		return fmt.Errorf("backup.recipients: %w", err)
	}
	var err error
	switch {
	case isBucket(c.Directory):
		_, err = c.bucketOf()
	case c.Directory != "":
		err = checkOutside(c.Directory, dataDir)
	}
	if err != nil {
		return fmt.Errorf("backup.directory: %w", err)
	}
	return nil
}

// Source is the data directory that is backed up. Its stores are open.
type Source struct {
	Dir    string
	Stores *datadir.Stores
	// Files of users; nil if they are not in the directory.
	Files *diskblob.Store
	// Version of the program.
	Version string
}

// Result of a backup.
type Result struct {
	ID string
	// CutMs is the moment of the backup, in milliseconds since 1970.
	CutMs int64
	// Files of the backup, and their bytes; New are those that were not in the directory of backups before.
	Files, NewFiles int
	Bytes, NewBytes int64
}

// Progress is told how many bytes of how many are done. It may be nil.
type Progress func(done, total int64)

func (p Progress) report(done, total int64) {
	if p != nil {
		p(done, total)
	}
}

// Make makes a backup. If it fails, no earlier backup is affected, and the next one uses what it has copied.
func Make(ctx context.Context, src Source, c Config, now time.Time, progress Progress) (_ *Result, err error) {
	recipients, err := recipientsOf(c.Recipients)
	if err != nil {
		return nil, err
	}
	r, err := openRepository(ctx, c, src.Dir)
	if err != nil {
		return nil, explain(err, c.Directory)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	w := newWriter(ctx, r, c, recipients, progress)
	m := &Manifest{Format: format, ID: newID(now), Source: src.Stores.Identity().ID, Version: src.Version, Recipients: c.Recipients, HasFiles: src.Files != nil}
	if err := w.reuseFrom(ctx, m.Source, c.Recipients); err != nil {
		return nil, err
	}
	if err := w.copyCut(ctx, src, m); err != nil {
		return nil, err
	}
	failpoint.Hit("backup/before-manifest")
	if err := r.commit(ctx, m); err != nil {
		return nil, explain(err, c.Directory)
	}
	failpoint.Hit("backup/after-manifest")
	w.result.ID, w.result.CutMs = m.ID, m.CutMs
	return &w.result, nil
}

// explain adds what an operator can do.
func explain(err error, dir string) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("the disk of the backups in %s is full, and this backup is not complete; earlier ones are. Free space there, or remove old backups with rialto backup --to %s --remove ID, and repeat it: %w", dir, dir, err)
	}
	return err
}

// copyCut takes the cut, copies it, and lists it in the manifest.
func (w *writer) copyCut(ctx context.Context, src Source, m *Manifest) (err error) {
	staging := filepath.Join(src.Dir, datadir.BackupDir)
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	retained := filepath.Join(staging, datadir.FilesDir)
	if src.Files != nil { // before the cut: what its database names must be found after it
		stop, err := src.Files.Retain(retained)
		if err != nil {
			return err
		}
		defer stop()
	}
	timelines := filepath.Join(staging, datadir.TimelinesDir)
	database, err := src.Stores.Cut(ctx, timelines)
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the disk of the data directory %s has no space for what a backup needs there, a few MB: free some, and repeat it (%v)", src.Dir, err)
	}
	if err != nil {
		return err
	}
	if src.Files != nil { // the list that counts is made when the stores are copied; until then the total is about right
		files, err := list(filepath.Join(src.Dir, datadir.FilesDir), datadir.FilesDir)
		if err != nil {
			return errors.Join(err, database.Close())
		}
		w.files = sizeOf(files)
	}
	m.CutMs, m.Epoch = time.Now().UnixMilli(), src.Stores.Log.Epoch()
	failpoint.Hit("backup/after-cut")
	err = w.copyStores(ctx, database, timelines, m)
	if err = errors.Join(err, database.Close()); err != nil {
		return err
	}
	if src.Files != nil {
		return w.copyFiles(filepath.Join(src.Dir, datadir.FilesDir), retained, m)
	}
	return nil
}

// copyStores copies the database first: while its snapshot is open, its write-ahead log grows.
func (w *writer) copyStores(ctx context.Context, database *sqldb.FileSnapshot, timelines string, m *Manifest) error {
	tables, err := list(timelines, datadir.TimelinesDir)
	if err != nil {
		return err
	}
	w.stores = database.Size() + sizeOf(tables)
	entry, err := w.copyDatabase(ctx, database)
	if err != nil {
		return err
	}
	m.Files = append(m.Files, *entry)
	return w.copyAll(tables, m)
}

// copyFiles copies users' files: those that are there, and those that were deleted since the cut began. A file that is deleted between the two lists is in
// the second.
func (w *writer) copyFiles(dir, retained string, m *Manifest) error {
	files, err := list(dir, datadir.FilesDir)
	if err != nil {
		return err
	}
	deleted, err := list(retained, datadir.FilesDir)
	if err != nil {
		return err
	}
	known := make(map[string]int, len(files))
	for i, f := range files {
		known[f.Name] = i
	}
	for _, f := range deleted {
		if i, ok := known[f.Name]; ok {
			files[i] = f
		} else {
			files = append(files, f)
		}
	}
	for i := range files {
		files[i].elsewhere = filepath.Join(retained, filepath.FromSlash(strings.TrimPrefix(files[i].Name, datadir.FilesDir+"/")))
	}
	w.files = sizeOf(files)
	return w.copyAll(files, m)
}

// listedFile is a file that is to be copied, under its name in the data directory.
type listedFile struct {
	diskblob.File
	elsewhere string // where it is if it is deleted before it is copied; may be empty
}

func sizeOf(files []listedFile) (size int64) {
	for _, f := range files {
		size += f.Info.Size()
	}
	return size
}

func list(dir, name string) (files []listedFile, err error) {
	err = diskblob.ListFiles(dir, func(f diskblob.File) error {
		f.Name = name + "/" + f.Name
		files = append(files, listedFile{File: f})
		return nil
	})
	return files, err
}

// recipientsOf parses public keys of age.
func recipientsOf(keys []string) ([]age.Recipient, error) {
	var all []age.Recipient
	for _, key := range keys {
		r, err := age.ParseX25519Recipient(key)
		if err != nil {
			return nil, fmt.Errorf("%q is no public key of age (age1…): %w", key, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// NewKey writes a new private key to a new file, which only its owner may read, and returns the public key. rialto restore needs the file; a server does not.
func NewKey(path string) (recipient string, err error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s exists already, and may be the key of backups: choose another file", path)
	}
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "# public key: %s\n%s\n", key.Recipient(), key)
	return key.Recipient().String(), errors.Join(err, f.Sync(), f.Close())
}

// identitiesOf reads private keys of age.
func identitiesOf(path string) ([]age.Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("%s has no private key of age: %w", path, err)
	}
	return keys, nil
}

// nopCloser is a Writer whose Close does nothing.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
