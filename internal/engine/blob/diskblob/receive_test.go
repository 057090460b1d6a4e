package diskblob_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
)

// counted counts what is read, and does something once when that is at least a number.
type counted struct {
	from io.Reader
	n    int
	at   int
	do   func()
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.n += n; c.n >= c.at && c.do != nil {
		c.do()
		c.do = nil
	}
	return n, err
}

// TestFilesOfAllSizes: around the sizes of pieces, and however few bytes come at once, a file has what was read, at its place.
func TestFilesOfAllSizes(t *testing.T) {
	const small, large = 32 << 10, 256 << 10
	data := make([]byte, 8*large)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // it cannot fail
	for _, size := range []int{0, 1, small - 1, small, small + 1, large - 1, large, large + 1, large + small, 2 * large, 5*large + 7, len(data)} {
		for name, from := range map[string]io.Reader{"at once": bytes.NewReader(data[:size]), "by halves": iotest.HalfReader(bytes.NewReader(data[:size])), "with the end": iotest.DataErrReader(bytes.NewReader(data[:size]))} {
			f, err := os.Create(filepath.Join(t.TempDir(), "file"))
			if err != nil {
				t.Fatal(err)
			}
			const offset = 11
			if err := diskblob.Receive(t.Context(), f, offset, from, int64(size)); err != nil {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
			got, err := os.ReadFile(f.Name())
			if size > 0 && (err != nil || !bytes.Equal(got, append(make([]byte, offset), data[:size]...))) {
				t.Errorf("%d bytes, %s: the file has %d bytes, and not those (%v)", size, name, len(got), err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestABrokenConnectionIsNoEnd: net/http says by io.ErrUnexpectedEOF, once, that a body is not complete.
func TestABrokenConnectionIsNoEnd(t *testing.T) {
	for _, size := range []int{10, 100 << 10, 1 << 20} {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		from := io.MultiReader(bytes.NewReader(make([]byte, size)), &brokenOnce{})
		if err := diskblob.Receive(t.Context(), f, 0, from, int64(size)+5); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("broken after %d bytes: %v", size, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// brokenOnce is a connection that breaks off. A second read finds its end.
type brokenOnce struct{ isRead bool }

func (b *brokenOnce) Read([]byte) (int, error) {
	if b.isRead {
		return 0, io.EOF
	}
	b.isRead = true
	return 0, io.ErrUnexpectedEOF
}

// TestAFailedWriteEndsTheReading: of a file that cannot be written any more, at most a piece is read.
func TestAFailedWriteEndsTheReading(t *testing.T) {
	const size, failsAt, piece = 64 << 20, 2 << 20, 256 << 10
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	from := &counted{from: io.LimitReader(zeros{}, size), at: failsAt, do: func() { _ = f.Close() }} // writing fails from then on
	if err := diskblob.Receive(t.Context(), f, 0, from, size); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a file that cannot be written: %v", err)
	}
	if from.n < failsAt || from.n > failsAt+piece {
		t.Errorf("%d bytes were read, of which %d could be written", from.n, failsAt)
	}
}

// zeros has zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
