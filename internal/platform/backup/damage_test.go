package backup_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// A backup in which a byte changed, or a file is missing or too short, is refused, by name, before anything is written.
func TestADamagedBackupIsRefused(t *testing.T) {
	d := newDirectory(t)
	d.add(20)
	d.put("a/1")
	r := d.mustMake()
	flip := func(at func(n int) int) func(b []byte) []byte {
		return func(b []byte) []byte {
			b = slices.Clone(b)
			b[at(len(b))] ^= 1
			return b
		}
	}
	damages := map[string]func(b []byte) []byte{
		"first byte":  flip(func(int) int { return 0 }),
		"middle byte": flip(func(n int) int { return n / 2 }),
		"last byte":   flip(func(n int) int { return n - 1 }),
		"cut off":     func(b []byte) []byte { return b[:len(b)-1] },
		"one more":    func(b []byte) []byte { return append(slices.Clone(b), 0) },
		"empty":       func([]byte) []byte { return nil },
		"missing":     nil,
	}
	for _, name := range contents(t, d.backups) {
		if !strings.HasPrefix(name, "objects/") && !strings.HasPrefix(name, "backups/") {
			continue
		}
		path := filepath.Join(d.backups, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range damages {
			switch {
			case damage == nil:
				err = os.Remove(path)
			case len(whole) == 0 && what != "one more":
				continue // such as a new write-ahead log
			default:
				err = os.WriteFile(path, damage(whole), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(t.TempDir(), "to")
			_, _, err := backup.Restore(t.Context(), to, d.restoreOptions(r.ID))
			if err == nil || !strings.Contains(err.Error(), filepath.Base(name)) && damage != nil {
				t.Errorf("%s, %s: the restore returned %v", name, what, err)
			}
			if left, err := os.ReadDir(to); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %s: %v was written (%v)", name, what, left, err)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.restored(d.restoreOptions(r.ID), 20, "a/1")
}

// A backup that is interrupted at any moment is none, and the next one is whole.
func TestAnInterruptedBackup(t *testing.T) {
	d := newDirectory(t)
	d.add(20)
	d.put("a/1", "a/2", "a/3")
	first := d.mustMake()
	d.add(10)
	d.put("a/4", "a/5")
	for stopAt := 1; ; stopAt++ {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := d.make(ctx, d.config(), func(int64, int64) {
			if n++; n == stopAt {
				cancel()
			}
		})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want %v", err, context.Canceled)
		}
		if list, err := backup.List(t.Context(), d.config()); err != nil || len(list) != 1 || list[0].ID != first.ID {
			t.Fatalf("interrupted at %d: the backups are %v, %v", stopAt, list, err)
		}
		if _, err := os.Stat(filepath.Join(d.dir, datadir.BackupDir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("interrupted at %d: links are left: %v", stopAt, err)
		}
	}
	d.restored(d.restoreOptions(first.ID), 20, "a/1", "a/2", "a/3")
	d.restored(d.restoreOptions(""), 30, "a/1", "a/2", "a/3", "a/4", "a/5")
}

// What a killed backup was writing is removed by the next one, and a manifest that is not complete counts for nothing.
func TestWhatAKilledBackupLeaves(t *testing.T) {
	d := newDirectory(t)
	d.add(5)
	first := d.mustMake()
	for _, name := range []string{"objects/new-1", "backups/new-2", "backups/20990101T000000Z-abcdef.json"} {
		if err := os.WriteFile(filepath.Join(d.backups, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(d.dir, datadir.BackupDir, "timeline"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := backup.Remove(t.Context(), d.config(), []string{first.ID}); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("a removal beside a damaged manifest returned %v", err)
	}
	d.mustMake()
	names := contents(t, d.backups)
	for _, name := range names {
		if strings.Contains(name, "new-") {
			t.Errorf("%s is left", name)
		}
	}
	list, err := backup.List(t.Context(), d.config())
	if err != nil || len(list) != 3 || list[2].Err == nil || !strings.Contains(list[2].Err.Error(), "does not end with its hash") {
		t.Errorf("the backups are %+v, %v", list, err)
	}
	if _, err := backup.Check(t.Context(), d.restoreOptions("")); err == nil || !strings.Contains(err.Error(), "Use another backup") {
		t.Errorf("the damaged one is accepted: %v", err)
	}
	d.restored(d.restoreOptions(first.ID), 5)
}

// Removing a backup removes what only it needs.
func TestBackupsAreRemoved(t *testing.T) {
	d := newDirectory(t)
	d.add(5)
	d.put("old", "both")
	first := d.mustMake()
	if err := d.files.Delete(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	d.put("new")
	d.add(5)
	second := d.mustMake()
	if _, _, err := backup.Remove(t.Context(), d.config(), []string{first.ID, "absent"}); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("removing an absent backup returned %v", err)
	}
	before := len(contents(t, filepath.Join(d.backups, "objects")))
	objects, size, err := backup.Remove(t.Context(), d.config(), []string{first.ID})
	if err != nil || objects == 0 || size == 0 || before-objects != len(contents(t, filepath.Join(d.backups, "objects"))) {
		t.Errorf("removed %d objects of %d, %d bytes, %v", objects, before, size, err)
	}
	if _, err := backup.Check(t.Context(), d.restoreOptions(first.ID)); err == nil || !strings.Contains(err.Error(), "has no backup") {
		t.Errorf("a removed backup is found: %v", err)
	}
	d.restored(d.restoreOptions(second.ID), 10, "both", "new")
	if _, _, err := backup.Remove(t.Context(), d.config(), []string{second.ID}); err != nil || len(contents(t, filepath.Join(d.backups, "objects"))) != 0 {
		t.Errorf("after the last one there are objects (%v)", err)
	}
	if _, err := backup.Check(t.Context(), d.restoreOptions("")); err == nil || !strings.Contains(err.Error(), "no complete backup") {
		t.Errorf("a backup is found where none is: %v", err)
	}
}

// Wrong directories are refused, with what to do, and nothing is changed.
func TestDirectoriesThatAreRefused(t *testing.T) {
	d := newDirectory(t)
	d.add(5)
	d.put("a/1")
	other, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600), os.Symlink(d.dir, link)); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{"": "no directory", filepath.Join(d.dir, "backups"): "in the data directory", filepath.Join(link, "deep", "backups"): "in the data directory", d.dir: "in the data directory",
		other: "other files", filepath.Join(other, "letter.txt"): "not a directory"} {
		c := d.config()
		c.Directory = to
		if _, err := d.make(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a backup to %q returned %v, want %q", to, err, want)
		}
	}
	if got := contents(t, other); !slices.Equal(got, []string{"letter.txt"}) {
		t.Errorf("files were written: %v", got)
	}
	d.mustMake()
	o := d.restoreOptions("")
	for to, want := range map[string]string{other: "not empty", d.dir: "not empty", filepath.Dir(d.backups): "not empty"} {
		if _, _, err := backup.Restore(t.Context(), to, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a restore to %s returned %v, want %q", to, err, want)
		}
	}
	o.From = other
	if _, _, err := backup.Restore(t.Context(), filepath.Join(t.TempDir(), "to"), o); err == nil || !strings.Contains(err.Error(), "has no backups") {
		t.Errorf("a restore from a directory without backups returned %v", err)
	}
}

// While one backup is made, no other process writes the directory, nor removes what is read.
func TestADirectoryOfBackupsIsLocked(t *testing.T) {
	d := newDirectory(t)
	d.add(5)
	r := d.mustMake()
	tried := false
	_, err := d.make(t.Context(), d.config(), func(int64, int64) {
		if tried {
			return
		}
		tried = true
		_, err1 := backup.List(t.Context(), d.config())
		_, _, err2 := backup.Remove(t.Context(), d.config(), []string{r.ID})
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), "wait until it has ended") {
				t.Errorf("during a backup another command returned %v", err)
			}
		}
	})
	if err != nil || !tried {
		t.Errorf("tried: %v, %v", tried, err)
	}
}

// A directory that a restore has not completed is refused by servers, wherever it was interrupted.
func TestAnInterruptedRestoreIsNotServed(t *testing.T) {
	d := newDirectory(t)
	d.add(20)
	d.put("a/1", "a/2", "a/3")
	d.mustMake()
	for stopAt := 1; ; stopAt++ {
		to := filepath.Join(t.TempDir(), "to")
		ctx, cancel := context.WithCancel(t.Context())
		o, n := d.restoreOptions(""), 0
		o.Progress = func(int64, int64) {
			if n++; n == stopAt {
				cancel()
			}
		}
		_, _, err := backup.Restore(ctx, to, o)
		cancel()
		if err == nil {
			break
		}
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			continue // it was still being checked
		}
		if s, err := datadir.Open(t.Context(), to, datadir.Options{Logger: quiet, Spare: 1 << 20, Files: true}); err == nil {
			t.Errorf("interrupted at %d, the directory is served", stopAt)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, _, err := backup.Restore(t.Context(), to, d.restoreOptions("")); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("interrupted at %d, another restore returned %v", stopAt, err)
		}
	}
}
