package outputlimit_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/outputlimit"
)

// slowConnection is the answer to a client that reads a number of bytes in the time of each piece. As a connection to which the system copies no files, it reads more of a file than it can write.
type slowConnection struct {
	*httptest.ResponseRecorder
	reads  int64
	pieces int
	ends   []time.Time
	isTLS  bool // and so of no use after a write that ran out of time
	late   bool
}

func (c *slowConnection) SetWriteDeadline(at time.Time) error {
	c.ends = append(c.ends, at)
	return nil
}

func (c *slowConnection) ReadFrom(r io.Reader) (int64, error) {
	c.pieces++
	if c.isTLS && c.late {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := io.CopyN(c.Body, r, c.reads)
	if err != nil {
		return n, err
	}
	if k, _ := io.CopyN(io.Discard, r, 10); k > 0 {
		c.late = true
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// TestFilesForSlowClients: a client that reads at least 64 KiB of a file in the time of a piece gets all of it, each byte once, and one that reads less is cut. Over TLS a piece is as large as what a
// client must read in its time.
func TestFilesForSlowClients(t *testing.T) {
	const least = 64 << 10
	data := make([]byte, 10*least+5)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // it cannot fail
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		reads   int64 // in the time of a piece
		request *http.Request
		pieces  int
		err     error
	}{
		"fast":             {int64(len(data)), &http.Request{ProtoMajor: 1}, 1, nil},
		"slow":             {least, &http.Request{ProtoMajor: 1}, 11, nil},
		"too slow":         {least - 1, &http.Request{ProtoMajor: 1}, 1, os.ErrDeadlineExceeded},
		"fast over TLS":    {least, &http.Request{ProtoMajor: 1, TLS: &tls.ConnectionState{}}, 11, nil},
		"slow over TLS":    {least - 1, &http.Request{ProtoMajor: 1, TLS: &tls.ConnectionState{}}, 1, os.ErrDeadlineExceeded},
		"fast over HTTP/2": {least, &http.Request{ProtoMajor: 2}, 11, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			c := &slowConnection{ResponseRecorder: httptest.NewRecorder(), reads: test.reads, isTLS: test.request.TLS != nil}
			n, err := io.CopyN(outputlimit.ForFile(c, test.request, int64(len(data))), f, int64(len(data)))
			want := len(data)
			if test.err != nil {
				want = int(test.reads)
			}
			if !errors.Is(err, test.err) || n != int64(want) || !bytes.Equal(c.Body.Bytes(), data[:want]) {
				t.Errorf("%d bytes were written, %v; they are right: %v", n, err, bytes.Equal(c.Body.Bytes(), data[:want]))
			}
			if c.pieces != test.pieces || len(c.ends) != test.pieces {
				t.Errorf("%d pieces with %d deadlines, not %d", c.pieces, len(c.ends), test.pieces)
			}
		})
	}
}
