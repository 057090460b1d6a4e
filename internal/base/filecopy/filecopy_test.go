package filecopy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := Copy(to, from); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy of a missing file gives %v", err)
	}
	content := bytes.Repeat([]byte("content"), 100_000)
	if err := os.WriteFile(from, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the copy has %d bytes of %d (%v)", len(got), len(content), err)
	}
	if err := Copy(to, from); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a copy over an existing file gives %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	failed := filepath.Join(dir, "failed")
	if err := Copy(failed, filepath.Join(dir, "directory")); err == nil {
		t.Error("a directory was copied")
	}
	if _, err := os.Stat(failed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed copy is left (%v)", err)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first", "the second one", ""} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("the file has %q, want %q (%v)", got, content, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "directory"), []byte("content")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("after it there are %v (%v)", list, err)
	}
}
