package spool_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/spool"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// has fails unless a part has the expected bytes, for each of two readers at once.
func has(t *testing.T, what string, p *spool.Part, want []byte) {
	t.Helper()
	one, two := p.Reader(), p.Reader()
	for _, r := range []io.ReadSeeker{one, two, one} {
		_, err := r.Seek(0, io.SeekStart)
		must(t, err)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) || p.Size() != int64(len(want)) {
			t.Errorf("%s: %d bytes, size %d, not %d; %v", what, len(got), p.Size(), len(want), err)
		}
	}
}

// TestReceive: a part has the bytes of its reader up to the limit, in whatever pieces they come.
func TestReceive(t *testing.T) {
	t.Parallel()
	d, err := spool.Open(t.TempDir())
	must(t, err)
	receive(t, d)
	receive(t, nil)
}

func receive(t *testing.T, d *spool.Dir) {
	t.Helper()
	value := content(3*spool.BufferSize + 7)
	for _, n := range []int{0, 1, spool.BufferSize - 1, spool.BufferSize, spool.BufferSize + 1, 2 * spool.BufferSize, len(value)} {
		for _, limit := range []int{n - 1, n, n + 1, 1 << 30} {
			for what, r := range map[string]io.Reader{"whole": bytes.NewReader(value[:n]), "halves": iotest.HalfReader(bytes.NewReader(value[:n])), "end with data": iotest.DataErrReader(bytes.NewReader(value[:n]))} {
				p, err := d.Receive(t.Context(), r, int64(limit))
				must(t, err)
				has(t, what, p, value[:max(0, min(n, limit))])
				must(t, p.Close())
			}
		}
	}
}

// TestAReaderThatFails: the bytes before it are kept, with its error.
func TestAReaderThatFails(t *testing.T) {
	t.Parallel()
	d, err := spool.Open(t.TempDir())
	must(t, err)
	broken := errors.New("broken")
	value := content(2*spool.BufferSize + 7)
	for _, n := range []int{0, 10, spool.BufferSize, len(value)} {
		p, err := d.Receive(t.Context(), io.MultiReader(bytes.NewReader(value[:n]), iotest.ErrReader(broken)), 1<<30)
		if !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		has(t, "broken", p, value[:n])
		must(t, p.Close())
		ctx, cancel := context.WithCancel(t.Context())
		p, err = d.Receive(ctx, io.MultiReader(bytes.NewReader(value[:n]), silent(cancel)), 1<<30)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		has(t, "cancelled", p, value[:n])
		must(t, p.Close())
	}
}

// silent is a reader without bytes that cancels a context when it is read.
type silent func()

func (s silent) Read([]byte) (int, error) {
	s()
	return 0, nil
}

// TestNoFileHasAName, while a part is received, and afterwards. Names that a crash left are removed; other files stay.
func TestNoFileHasAName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool")
	must(t, os.Mkdir(path, 0o700))
	for _, name := range []string{"spool-1", "other"} {
		must(t, os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600))
	}
	d, err := spool.Open(path)
	must(t, err)
	names := func(when string) {
		t.Helper()
		found, err := os.ReadDir(path)
		must(t, err)
		if len(found) != 1 || found[0].Name() != "other" {
			t.Errorf("%s: the directory has the files %v, want only the other one", when, found)
		}
	}
	names("opened")
	ctx, cancel := context.WithCancel(t.Context())
	p, err := d.Receive(ctx, io.MultiReader(bytes.NewReader(content(3*spool.BufferSize)), silent(func() {
		names("while bytes are received")
		cancel()
	})), 1<<30)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	names("received")
	must(t, p.Close())
	names("closed")
}

// TestAFullDisk gives a clear error, and no part. Short parts need no disk.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full")
		return
	}
	var file *os.File
	d := spool.New(func() (f *os.File, err error) {
		file, err = os.OpenFile("/dev/full", os.O_RDWR, 0)
		return file, err
	})
	p, err := d.Receive(t.Context(), bytes.NewReader(content(spool.BufferSize)), spool.BufferSize)
	must(t, err)
	has(t, "a short part", p, content(spool.BufferSize))
	p, err = d.Receive(t.Context(), bytes.NewReader(content(spool.BufferSize+1)), 1<<30)
	if e := errs.Of(err); p != nil || e.Kind != errs.Unavailable || e.Reason != "storage_full" || e.Retry == 0 {
		t.Errorf("receiving on a full disk returned %v, %v, want storage_full with a time to retry", p, err)
	}
	if err := file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file of a part that was dropped is still open: %v", err)
	}
}

// TestMemory: a hundred parts that wait for their last byte need their buffers, whatever they have received.
func TestMemory(t *testing.T) {
	d, err := spool.Open(t.TempDir())
	must(t, err)
	const parts, size = 100, 2 << 20
	value := content(size - 1)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	waiting, end := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range parts {
		all.Go(func() {
			p, err := d.Receive(t.Context(), io.MultiReader(bytes.NewReader(value), &gate{waiting: waiting, end: end}), size)
			if err != nil || p.Size() != size {
				t.Errorf("receiving returned %v, %v, want a part of the whole size", p, err)
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range parts {
		eventually.Receive(t, "a part waits for its last byte", waiting)
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	if used := int64(now.HeapAlloc) - int64(before.HeapAlloc); used > 2*parts*spool.BufferSize {
		t.Errorf("%d parts of %d bytes need %d KiB of memory", parts, size, used>>10)
	}
	close(end)
	eventually.Done(t, "all parts are received", &all)
}

// gate says that it is read, and gives a byte when it may.
type gate struct {
	waiting chan<- struct{}
	end     <-chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	g.waiting <- struct{}{}
	<-g.end
	return copy(p[:1], "x"), nil
}
