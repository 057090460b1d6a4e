package datadir

import (
	"errors"
	"os"
	"testing"
)

// The spare space is released in steps until none is left. It is refilled when the disk has enough space for others too.
func TestSpareIsReleasedInSteps(t *testing.T) {
	s, err := openSpare(t.TempDir(), 3<<20, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	held := func() int64 {
		info, err := s.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if held() != 3<<20 {
		t.Fatalf("%d bytes are reserved at first", held())
	}
	free := uint64(0)
	s.free = func() (uint64, error) { return free, nil }
	for left := int64(2); left >= 0; left-- {
		if !s.Release() || held() != left<<20 {
			t.Errorf("%d bytes are reserved, want %d MiB", held(), left)
		}
	}
	if s.Release() {
		t.Error("nothing was released")
	}
	for _, c := range []struct {
		free uint64
		err  error
		held int64
	}{{keepFree + 3<<20 - 1, nil, 0}, {1 << 40, errors.New("unknown"), 0}, {keepFree + 3<<20, nil, 3 << 20}} {
		s.free = func() (uint64, error) { return c.free, c.err }
		if s.Restore(); held() != c.held {
			t.Errorf("with %d bytes free %d are reserved", c.free, held())
		}
	}
	if none := (*Spare)(nil); none.Release() || none.Close() != nil {
		t.Error("a spare of size 0 reserves space")
	}
}

// A smaller spare than before releases the difference.
func TestASmallerSpareReleasesSpace(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int64{2 << 20, 1 << 20, 3 << 20} {
		s, err := openSpare(dir, size, quiet())
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(s.file.Name()); err != nil || info.Size() != size {
			t.Errorf("%d bytes, want %d (%v)", info.Size(), size, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
