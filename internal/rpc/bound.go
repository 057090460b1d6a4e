package rpc

import (
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/gen/rialto/id/v1/idv1connect"
	"github.com/rialto-im/rialto/internal/errs"
)

const (
	bodyTime   = time.Minute     // in which a request's body has come; after it the connection ends, so it is more than callTime
	answerTime = 2 * time.Minute // in which the answer has gone, from the request's beginning
)

var errTooLarge = errs.New(errs.Invalid, "request_too_large", "a request has at most 1 MiB, unpacked")

// options of a call's handler.
func (s *Server) options(name string) []connect.HandlerOption {
	tooLarge := s.failure(name, errTooLarge)
	least := 0
	if strings.HasPrefix(name, "/"+idv1connect.IDServiceName+"/") {
		least = math.MaxInt // numbers do not get much smaller, and a gzip takes longer than all the rest of a call
	}
	return []connect.HandlerOption{
		connect.WithCompressMinBytes(least), connect.WithReadMaxBytes(maxRequest), connect.WithCodec(protoCodec{}), connect.WithCodec(jsonCodec{"json"}), connect.WithCodec(jsonCodec{"json; charset=utf-8"}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &unzip{tooLarge: tooLarge} }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
	}
}

// bound ends bodies that are too large or too slow. Connect has a limit too, but reads what is beyond it to the end, which may
// never come.
func (s *Server) bound(m method) http.Handler {
	tooLarge := s.failure(m.name, errTooLarge)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A writer without deadlines, as a recorder in a test, has no slow client either.
		connection, now := http.NewResponseController(w), time.Now()
		_, _ = connection.SetReadDeadline(now.Add(bodyTime)), connection.SetWriteDeadline(now.Add(answerTime))
		most := int64(maxRequest)
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			most += 5 // before each message
		}
		r.Body = &body{ReadCloser: r.Body, left: most, tooLarge: tooLarge}
		m.handler.ServeHTTP(w, r)
	})
}

// body of a request, of at most left bytes.
type body struct {
	io.ReadCloser
	left     int64
	tooLarge error
}

// Read fails at the first byte too many.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.tooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.tooLarge
	}
	return n, err
}

// unzip unpacks a request, to at most maxRequest bytes. Connect would unpack the rest as well, to tell how much it was.
type unzip struct {
	gzip.Reader
	left     int64
	tooLarge error
}

// Reset begins another request.
func (u *unzip) Reset(r io.Reader) error {
	u.left = maxRequest
	return u.Reader.Reset(r)
}

// Read fails at the first byte too many.
func (u *unzip) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, u.tooLarge
	}
	return n, err
}
