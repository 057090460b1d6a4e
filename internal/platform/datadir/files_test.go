package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withFiles returns the options of a server that keeps the users' files in the directory.
func withFiles() Options {
	o := small()
	o.Files = true
	return o
}

// A directory that has lost its users' files is refused, and nothing is created in it. To accept the loss, an operator creates an empty
// directory for them.
func TestMissingFilesDirIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"after a stop", "after a kill"} {
		t.Run(name, func(t *testing.T) {
			dir := served(t, name == "after a kill") // without files, as a server with S3 leaves it
			if err := os.Remove(filepath.Join(dir, SpareFile)); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			s, err := Open(t.Context(), dir, withFiles())
			var refused *DamagedError
			if !errors.As(err, &refused) {
				t.Fatalf("it was opened, or the error is %v", errors.Join(err, s.Close()))
			}
			files := filepath.Join(dir, FilesDir)
			for _, want := range []string{files + " is missing", "Put back what is missing", "backup", "mkdir " + files} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not contain %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "--accept-loss") {
				t.Errorf("the error advises a repair: %v", err)
			}
			if err := CheckFilesDir(dir); !errors.As(err, &refused) {
				t.Errorf("CheckFilesDir returned %v", err)
			}
			if exists(files) || exists(filepath.Join(dir, SpareFile)) || listing(t, dir) != before {
				t.Errorf("the directory had\n%s\nand has\n%s", before, listing(t, dir))
			}
			opened(t, dir, small()) // with S3
			if err := os.Mkdir(files, 0o700); err != nil {
				t.Fatal(err)
			}
			opened(t, dir, withFiles())
		})
	}
}

// The first start creates the directory of the files before the marker says that it served, even after an interrupted attempt.
func TestFirstStartsCreateTheFilesDir(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"files elsewhere": func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, FilesDir)); err != nil {
				t.Fatal(err)
			}
		},
		"ids": func(t *testing.T, dir string) {
			s, err := OpenDatabase(t.Context(), dir, quiet())
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"an earlier release": func(t *testing.T, dir string) { earlier(t, dir, "conversations", true) },
		"interrupted": func(t *testing.T, dir string) {
			m, err := createMarker(dir, Creating)
			if err := errors.Join(err, m.Close(), os.Mkdir(filepath.Join(dir, FilesDir), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			begin(t, dir)
			for range 2 {
				if err := CheckFilesDir(dir); err != nil {
					t.Fatal(err)
				}
				opened(t, dir, withFiles())
			}
			if info, err := os.Stat(filepath.Join(dir, FilesDir)); err != nil || !info.IsDir() {
				t.Errorf("the directory of the files: %v", err)
			}
		})
	}
}

// opened opens and closes the stores.
func opened(t *testing.T, dir string, o Options) {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
