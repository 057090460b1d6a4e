package video_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/service/video"
)

// remoteFile is a file of a store elsewhere.
type remoteFile struct {
	io.Reader
	io.Seeker
}

func (remoteFile) Close() error { return nil }

// TestFailedCopyOfSource: nothing is left of a copy that failed; a complete one stays.
func TestFailedCopyOfSource(t *testing.T) {
	broken := errors.New("the connection broke")
	dir := t.TempDir()
	for _, c := range []struct {
		failure error
		files   int
	}{{broken, 0}, {nil, 1}} {
		_, _, err := video.Acquire(t.Context(), dir, func(context.Context) (io.ReadSeekCloser, error) {
			return remoteFile{Reader: io.MultiReader(strings.NewReader("the beginning"), failing{c.failure})}, nil
		})
		if !errors.Is(err, c.failure) {
			t.Errorf("the error is %v, want %v", err, c.failure)
		}
		list, err := os.ReadDir(dir)
		must(t, err)
		if len(list) != c.files {
			t.Errorf("after %v, there are %d files, want %d", c.failure, len(list), c.files)
		}
	}
}

// failing is a reader that ends with an error; nil: with the end of the file.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
