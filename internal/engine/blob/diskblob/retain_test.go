package diskblob_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
)

// While deleted files are retained, they leave the store and are found elsewhere. Afterwards they are removed.
func TestDeletedFilesAreRetained(t *testing.T) {
	dir, kept := filepath.Join(t.TempDir(), "blobs"), filepath.Join(t.TempDir(), "kept")
	s := open(t, dir)
	for _, key := range []string{"a/1", "a/2", "a/3", "b"} {
		if err := s.Put(t.Context(), key, strings.NewReader(key), int64(len(key))); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			if err := s.Delete(t.Context(), key); err != nil {
				t.Errorf("deleting %s: %v", key, err)
			}
		}
	}
	remove("a/1")
	stop, err := s.Retain(kept)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retain(kept); err == nil {
		t.Error("deleted files are retained twice")
	}
	remove("a/2", "b", "b", "absent", "a") // a is a folder
	if got := files(t, dir); !slices.Equal(got, []string{"a/3"}) {
		t.Errorf("the store has %v", got)
	}
	if got := files(t, kept); !slices.Equal(got, []string{"a/2", "b"}) {
		t.Errorf("retained: %v", got)
	}
	if b, err := os.ReadFile(filepath.Join(kept, "a", "2")); err != nil || string(b) != "a/2" {
		t.Errorf("a retained file has %q (%v)", b, err)
	}
	stop()
	remove("a/3")
	if got := append(files(t, dir), files(t, kept)...); !slices.Equal(got, []string{"a/2", "b"}) {
		t.Errorf("afterwards there are %v", got)
	}
}

// A list has complete files and those that are stored in parts, and not what is being written.
func TestFilesAreListed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	if err := s.Put(t.Context(), "a/1", strings.NewReader("abc"), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginParts(t.Context(), "a/2"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".part", "put-1"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := diskblob.ListFiles(dir, func(f diskblob.File) error {
		names = append(names, f.Name)
		if b, err := os.ReadFile(f.Path); err != nil || int64(len(b)) != f.Info.Size() {
			t.Errorf("%s has %d bytes at %s, listed with %d (%v)", f.Name, len(b), f.Path, f.Info.Size(), err)
		}
		return nil
	})
	if err != nil || !slices.Equal(names, []string{".part/sessions/a_2", "a/1"}) {
		t.Errorf("listed: %v, %v", names, err)
	}
	if err := diskblob.ListFiles(filepath.Join(dir, "absent"), func(diskblob.File) error { t.Error("a file of nothing"); return nil }); err != nil {
		t.Error(err)
	}
}
