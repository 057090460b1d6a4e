package diskblob_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/blobtest"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
)

func open(t *testing.T, dir string) *diskblob.Store {
	t.Helper()
	s, err := diskblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, filepath.Join(t.TempDir(), "not", "made", "yet")) })
}

// files returns the files in a directory, by relative path.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
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

// TestACrashLeavesNoPartialFile: after a restart, an unfinished file does not exist and takes no space.
func TestACrashLeavesNoPartialFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Put(t.Context(), "media/1", strings.NewReader("whole"), 5); err != nil {
		t.Fatal(err)
	}
	body, client := io.Pipe()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- s.Put(ctx, "media/2", body, 1000) }()
	if _, err := client.Write([]byte("half of it")); err != nil { // returns when it was taken
		t.Fatal(err)
	}
	if list := files(t, dir); len(list) != 2 {
		t.Errorf("the files are %q, want 2", list)
	}
	again := open(t, dir) // as after a crash of the machine: nothing was cleaned up
	if list := files(t, dir); len(list) != 1 || list[0] != filepath.Join("media", "1") {
		t.Errorf("after the crash the files are %q", list)
	}
	if _, _, err := again.Open(t.Context(), "media/2"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a partial file: %v", err)
	}
	f, size, err := again.Open(t.Context(), "media/1")
	if err != nil || size != 5 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	if err := errors.Join(f.Close(), client.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a file whose parts were removed is stored")
	}
}

func TestFailuresLeaveNoFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, size := range []int64{0, 1, 7, -1} {
		if err := s.Put(t.Context(), "a", strings.NewReader("12345"), size); !errors.Is(err, blob.ErrSize) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	if list := files(t, dir); len(list) != 0 {
		t.Errorf("remaining files: %q", list)
	}
}

func TestFilesAreForTheServerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	if err := open(t, dir).Put(t.Context(), "media/1", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAFileInPlaceOfTheDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := diskblob.Open(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in place of a directory: %v", err)
	}
}
