package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

var quiet = slog.New(slog.DiscardHandler)

// directory is a data directory with open stores, and what was stored in it.
type directory struct {
	t       *testing.T
	dir     string
	stores  *datadir.Stores
	files   *diskblob.Store
	rows    int // of the database, and as many entries of a conversation
	backups string
	s3      backup.S3
}

func newDirectory(t *testing.T) *directory {
	t.Helper()
	d := &directory{t: t, dir: filepath.Join(t.TempDir(), "data"), backups: filepath.Join(t.TempDir(), "backups")}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.open()
	if err := d.stores.DB.Migrate(t.Context(), "rows", []string{`CREATE TABLE some_rows (n BIGINT PRIMARY KEY, text TEXT NOT NULL)`}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.close() })
	return d
}

func (d *directory) open() {
	d.t.Helper()
	var err error
	if d.stores, err = datadir.Open(d.t.Context(), d.dir, datadir.Options{Logger: quiet, Spare: 1 << 20, Files: true}); err != nil {
		d.t.Fatal(err)
	}
	if d.files, err = diskblob.Open(filepath.Join(d.dir, datadir.FilesDir)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *directory) close() {
	if d.stores == nil {
		return
	}
	if err := d.stores.Close(); err != nil {
		d.t.Error(err)
	}
	d.stores = nil
}

// add adds rows, and an entry for each.
func (d *directory) add(n int) {
	d.t.Helper()
	for range n {
		d.rows++
		if err := d.stores.DB.Write(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO some_rows (n, text) VALUES ($1, $2)`, d.rows, strings.Repeat("x", 1000))
			return err
		}); err != nil {
			d.t.Fatal(err)
		}
		done := make(chan error, 1)
		d.stores.Log.Append(&timeline.AppendRequest{Key: conversation, Payload: []byte(fmt.Sprint("entry ", d.rows)), Counts: true, Done: func(a *timeline.AppendRequest) { done <- a.Err }})
		if err := <-done; err != nil {
			d.t.Fatal(err)
		}
	}
}

var conversation = timeline.Key{Kind: timeline.Conversation, ID: 1}

func (d *directory) put(keys ...string) {
	d.t.Helper()
	for _, key := range keys {
		text := "contents of " + key
		if err := d.files.Put(context.Background(), key, strings.NewReader(text), int64(len(text))); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *directory) config() backup.Config {
	return backup.Config{Directory: d.backups, S3: d.s3, BytesPerSecond: 1 << 40}
}

func (d *directory) make(ctx context.Context, c backup.Config, progress backup.Progress) (*backup.Result, error) {
	return backup.Make(ctx, backup.Source{Dir: d.dir, Stores: d.stores, Files: d.files, Version: "test"}, c, time.Now(), progress)
}

func (d *directory) mustMake() *backup.Result {
	d.t.Helper()
	r, err := d.make(d.t.Context(), d.config(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *directory) restoreOptions(id string) backup.RestoreOptions {
	return backup.RestoreOptions{From: d.backups, S3: d.s3, ID: id, Now: time.Now()}
}

// restored restores a backup into a new directory, and requires that it has so many rows and entries, and these files.
func (d *directory) restored(o backup.RestoreOptions, rows int, files ...string) *directory {
	d.t.Helper()
	to := &directory{t: d.t, dir: filepath.Join(d.t.TempDir(), "restored"), backups: d.backups, rows: rows}
	if _, _, err := backup.Restore(d.t.Context(), to.dir, o); err != nil {
		d.t.Fatal(err)
	}
	to.open()
	d.t.Cleanup(to.close)
	var n int
	if err := to.stores.DB.Read().QueryRow(`SELECT count(*) FROM some_rows`).Scan(&n); err != nil || n != rows {
		d.t.Errorf("%d rows were restored, want %d: %v", n, rows, err)
	}
	entries, err := to.stores.Log.Read(d.t.Context(), conversation, 0, rows+10)
	if err != nil || len(entries) != rows {
		d.t.Errorf("%d entries were restored, want %d: %v", len(entries), rows, err)
	}
	for i, e := range entries {
		if want := fmt.Sprint("entry ", i+1); e.Seq != uint64(i+1) || string(e.Payload) != want {
			d.t.Errorf("entry %d was restored as %d, %q", i+1, e.Seq, e.Payload)
		}
	}
	if got := contents(d.t, filepath.Join(to.dir, datadir.FilesDir)); !slices.Equal(got, files) {
		d.t.Errorf("restored files: %v, want %v", got, files)
	}
	for _, key := range files {
		if b, err := os.ReadFile(filepath.Join(to.dir, datadir.FilesDir, key)); err != nil || string(b) != "contents of "+key {
			d.t.Errorf("%s was restored as %q: %v", key, b, err)
		}
	}
	return to
}

// contents returns the files in a directory that are complete, by relative path.
func contents(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !e.IsDir() {
			path, err = filepath.Rel(dir, path)
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A backup is restored as the directory was when it was made. The original, and what is restored, go on. The streams of the restored one go on in an
// epoch above any that a server on the original may have begun.
func TestABackupIsRestored(t *testing.T) {
	d := newDirectory(t)
	d.add(50)
	d.put("a/1", "a/2")
	first := d.mustMake()
	d.add(20)
	d.put("b/1")
	if err := d.files.Delete(t.Context(), "a/1"); err != nil {
		t.Fatal(err)
	}
	second := d.mustMake()
	d.add(5)
	list, err := backup.List(t.Context(), d.config())
	if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != second.ID {
		t.Fatalf("the backups are %+v, %v", list, err)
	}
	one := d.restored(d.restoreOptions(first.ID), 50, "a/1", "a/2")
	two := d.restored(d.restoreOptions(""), 70, "a/2", "b/1")
	for _, to := range []*directory{one, two} {
		log := to.stores.Log
		// It was opened once more than by the restore.
		if want := d.stores.Log.Epoch() + 1000 + 1; log.RestoredEpoch() != want || log.Epoch() != want+1 {
			t.Errorf("restored in epoch %d, now %d, want %d", log.RestoredEpoch(), log.Epoch(), want)
		}
		if to.stores.Identity().ID == d.stores.Identity().ID {
			t.Error("what is restored has the id of the original")
		}
	}
	one.add(10)
	if r := one.mustMake(); r.Files == 0 {
		t.Errorf("a backup of what was restored: %+v", r)
	}
	one.close()
	if err := datadir.Check(t.Context(), one.dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, datadir.BackupDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup leaves its links: %v", err)
	}
}

// The epoch rises by the starts that the original may have had since the backup.
func TestTheEpochOfAnOldBackup(t *testing.T) {
	d := newDirectory(t)
	d.add(1)
	d.mustMake()
	epoch := d.stores.Log.Epoch()
	for _, c := range []struct {
		after  time.Duration
		starts uint32
		want   uint32
	}{{0, 0, 1000}, {-time.Hour, 0, 1000}, {24 * time.Hour, 0, 1144}, {24 * time.Hour, 7, 7}, {100 * 365 * 24 * time.Hour, 0, 1 << 19}} {
		o := d.restoreOptions("")
		o.Now, o.Starts = o.Now.Add(c.after), c.starts
		if got := d.restored(o, 1).stores.Log.RestoredEpoch() - epoch - 1; got != c.want {
			t.Errorf("restored after %v, with %d starts given: the epoch rises by %d, want %d", c.after, c.starts, got, c.want)
		}
	}
}

// A backup copies what no earlier one has, and nothing else: a new table, a new file, and the changed parts of the database.
func TestOnlyWhatIsNewIsCopied(t *testing.T) {
	d := newDirectory(t)
	d.add(20)
	d.put("a/1", "a/2", "a/3")
	first := d.mustMake()
	if first.NewFiles < 5 || first.Files < 6 {
		t.Errorf("the first backup: %+v", first)
	}
	tablesOf := func(id string) (list []string) {
		t.Helper()
		m := manifestOf(t, d, id)
		for _, f := range m.Files {
			if strings.HasSuffix(f.Path, ".sst") {
				list = append(list, f.Path)
			}
		}
		return list
	}
	objects := contents(t, filepath.Join(d.backups, "objects"))
	d.put("a/4")
	d.add(1)
	second := d.mustMake()
	var copied []string
	m, before := manifestOf(t, d, second.ID), manifestOf(t, d, first.ID)
	old := map[string]bool{}
	for _, f := range before.Files {
		for _, p := range f.Parts {
			old[p.Object] = true
		}
	}
	for _, f := range m.Files {
		for _, p := range f.Parts {
			if !old[p.Object] && !slices.Contains(copied, f.Path) {
				copied = append(copied, f.Path)
			}
		}
	}
	for _, path := range copied {
		if slices.Contains(tablesOf(first.ID), path) || strings.HasPrefix(path, "blobs/") && path != "blobs/a/4" {
			t.Errorf("%s was copied again", path)
		}
	}
	if !slices.Contains(copied, "blobs/a/4") || !slices.Contains(copied, "records.db") || len(tablesOf(second.ID)) <= len(tablesOf(first.ID)) {
		t.Errorf("copied: %v; tables %v and then %v", copied, tablesOf(first.ID), tablesOf(second.ID))
	}
	if got := len(contents(t, filepath.Join(d.backups, "objects"))) - len(objects); got != second.NewFiles {
		t.Errorf("%d objects are new, and the result says %d", got, second.NewFiles)
	}
	for i := range objects { // nothing was written again
		if !slices.Contains(contents(t, filepath.Join(d.backups, "objects")), objects[i]) {
			t.Errorf("%s is gone", objects[i])
		}
	}
	// A file that changed under its name is copied, also if its size is the same.
	later := time.Now().Add(time.Hour)
	path := filepath.Join(d.dir, "blobs", "a", "1")
	if err := errors.Join(os.WriteFile(path, []byte("CONTENTS OF a/1"), 0o600), os.Chtimes(path, later, later)); err != nil {
		t.Fatal(err)
	}
	third := manifestOf(t, d, d.mustMake().ID)
	for _, f := range third.Files {
		if f.Path == "blobs/a/1" && slices.ContainsFunc(m.Files, func(was backup.File) bool { return was.Path == f.Path && was.Parts[0].Object == f.Parts[0].Object }) {
			t.Error("a changed file was not copied")
		}
	}
}

// manifestOf checks a backup, and returns its manifest.
func manifestOf(t *testing.T, d *directory, id string) *backup.Manifest {
	t.Helper()
	m, err := backup.Check(t.Context(), d.restoreOptions(id))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Files that are deleted after the cut are in the backup, whether they are deleted before or after they are listed.
func TestFilesThatAreDeletedMeanwhile(t *testing.T) {
	d := newDirectory(t)
	d.add(3)
	var keys []string
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("f/%02d", i))
	}
	d.put(keys...)
	size := int64(len(keys) * len("contents of "+keys[0]))
	for _, listed := range []bool{false, true} { // the files come last
		n := 0
		r, err := d.make(t.Context(), d.config(), func(done, total int64) {
			if n == 0 && (done > total-size) == listed {
				n++
				for _, key := range keys {
					if err := d.files.Delete(context.Background(), key); err != nil {
						t.Error(err)
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Errorf("nothing was deleted, listed %v", listed)
		}
		d.restored(d.restoreOptions(r.ID), 3, keys...)
		if got := contents(t, filepath.Join(d.dir, "blobs")); len(got) != 0 {
			t.Errorf("after the backup there are %v", got)
		}
		d.put(keys...)
	}
}

// What is written while a backup is made is in it to one moment: each row has its entry, which was appended after it.
func TestACutIsOneMoment(t *testing.T) {
	d := newDirectory(t)
	d.add(1)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				d.add(1)
			}
		}
	}()
	for range 5 {
		r := d.mustMake()
		to := filepath.Join(t.TempDir(), "restored")
		if _, _, err := backup.Restore(t.Context(), to, d.restoreOptions(r.ID)); err != nil {
			t.Fatal(err)
		}
		s, err := datadir.Open(t.Context(), to, datadir.Options{Logger: quiet, Spare: 1 << 20, Files: true})
		if err != nil {
			t.Fatal(err)
		}
		var rows uint64
		tail, err := s.Log.Tail(t.Context(), conversation)
		if err := errors.Join(err, s.DB.Read().QueryRow(`SELECT count(*) FROM some_rows`).Scan(&rows), s.Close()); err != nil {
			t.Fatal(err)
		}
		if rows != tail.Seq && rows != tail.Seq+1 {
			t.Errorf("a backup has %d rows and %d entries", rows, tail.Seq)
		}
	}
	close(stop)
	<-ended
}

// An encrypted backup has no contents that can be read, and is restored with the private key only.
func TestAnEncryptedBackup(t *testing.T) {
	d := newDirectory(t)
	d.add(30)
	d.put("a/1", "a/2")
	key, other := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "other")
	recipient, err := backup.NewKey(key)
	if err != nil {
		t.Fatal(err)
	}
	successor, err := backup.NewKey(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.NewKey(key); err == nil || !strings.Contains(err.Error(), "choose another file") {
		t.Errorf("a second key in the same file: %v, want an error that names another file as the way out", err)
	}
	c := d.config()
	c.Recipients = []string{recipient}
	var results []*backup.Result
	for range 2 {
		r, err := d.make(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if results[1].NewFiles >= results[0].NewFiles-2 {
		t.Errorf("an encrypted backup copies %d files, and then %d", results[0].NewFiles, results[1].NewFiles)
	}
	for _, name := range contents(t, d.backups) {
		b, err := os.ReadFile(filepath.Join(d.backups, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"contents of", "entry 1", "SQLite format"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	o := d.restoreOptions("")
	for file, want := range map[string]string{"": "--identity", other: "does not open the backup", filepath.Join(d.backups, "RIALTO-BACKUPS"): "no private key", "absent": "no such file"} {
		o.Identity = file
		to := filepath.Join(t.TempDir(), "to")
		if _, _, err := backup.Restore(t.Context(), to, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a restore with the key %q returned %v, want %q", file, err, want)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a restore with the key %q has begun to write: %v", file, err)
		}
		if _, err := backup.Check(t.Context(), o); file != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a check with the key %q returned %v, want %q", file, err, want)
		}
	}
	o.Identity = key
	if _, err := backup.Check(t.Context(), o); err != nil {
		t.Error(err)
	}
	d.restored(o, 30, "a/1", "a/2")
	c.Recipients = []string{successor} // nothing of the next backup needs the first key, which may be deleted
	if _, err := d.make(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	o.Identity = other
	d.restored(o, 30, "a/1", "a/2")
	c.Recipients = []string{"age1wrong"}
	if err := c.Check(d.dir); err == nil || !strings.Contains(err.Error(), "age1wrong") {
		t.Errorf("a wrong public key is accepted: %v", err)
	}
}

// The settings of a server are refused if its backups would be in its data directory, which need not exist yet.
func TestBackupsInTheDataDirectoryAreRefused(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for directory, want := range map[string]bool{"": false, data: true, filepath.Join(data, "b"): true, data + "-b": false, filepath.Dir(data): false, "s3://bucket/data": false} {
		err := backup.Config{Directory: directory}.Check(data)
		if (err != nil) != want || want && !strings.HasPrefix(err.Error(), "backup.directory: ") {
			t.Errorf("the check of the directory %q returned %v, want an error about backup.directory: %v", directory, err, want)
		}
	}
}
