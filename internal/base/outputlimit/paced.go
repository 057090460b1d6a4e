package outputlimit

import (
	"errors"
	"io"
	"math"
	"net/http"
	"time"
)

const (
	pieceSize = 64 << 10
	// PieceTime is how long a client may take for a piece of an answer: a slow phone reads 2 KiB/s. A client that reads nothing is disconnected.
	PieceTime = 30 * time.Second
)

// TransferTimeout is how long the transfer of a file with a number of bytes may take, to a client or from it.
func TransferTimeout(bytes int64) time.Duration {
	const minBytesPerSecond = 16 << 10
	return time.Minute + time.Duration(bytes/minBytesPerSecond)*time.Second
}

// WithWriteDeadlines ends the connection of a client that does not read: each piece of an answer must be written in its time, and all of it
// within the given time, if that is not 0. Of a writer that has deadlines already, it only shortens the time.
func WithWriteDeadlines(w http.ResponseWriter, within time.Duration) http.ResponseWriter {
	p, ok := w.(*deadlineWriter)
	if !ok {
		p = &deadlineWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	}
	if end := time.Now().Add(within); within > 0 && (p.end.IsZero() || end.Before(p.end)) {
		p.end = end
	}
	return p
}

type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	end     time.Time // zero: unlimited
}

// extendDeadline starts the time of a piece.
func (p *deadlineWriter) extendDeadline() {
	ends := time.Now().Add(PieceTime)
	if !p.end.IsZero() && p.end.Before(ends) {
		ends = p.end
	}
	_ = p.control.SetWriteDeadline(ends) // a writer without deadlines, such as a recorder in a test, has no slow client
}

// Write writes in pieces, each within its time.
func (p *deadlineWriter) Write(b []byte) (n int, err error) {
	for {
		piece := b[n:min(len(b), n+pieceSize)]
		p.extendDeadline()
		k, err := p.ResponseWriter.Write(piece)
		if n += k; err != nil || n == len(b) {
			return n, err
		}
	}
}

// ReadFrom writes a file in pieces, each within its time. If the connection supports it, the system copies the file.
func (p *deadlineWriter) ReadFrom(r io.Reader) (n int64, err error) {
	if _, ok := p.ResponseWriter.(io.ReaderFrom); !ok {
		return io.Copy(struct{ io.Writer }{p}, r)
	}
	left := &io.LimitedReader{R: r, N: math.MaxInt64}
	if part, ok := r.(*io.LimitedReader); ok { // the system does not copy from nested limited readers
		left = part
	}
	for left.N > 0 {
		p.extendDeadline()
		k, err := io.CopyN(p.ResponseWriter, left.R, min(pieceSize, left.N))
		n, left.N = n+k, left.N-k
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
	return n, nil
}

// Flush writes what is buffered.
func (p *deadlineWriter) Flush() {
	p.extendDeadline()
	_ = p.control.Flush() // the client may have disconnected
}

// Unwrap returns the wrapped writer.
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
