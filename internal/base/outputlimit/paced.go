package outputlimit

import (
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"time"
)

const (
	pieceSize = 64 << 10
	// filePieceSize is that of a piece that the system copies from a file to a connection, since each costs calls of the system. The least that a client must read in PieceTime is pieceSize here too.
	filePieceSize = 8 << 20
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
	return withDeadlines(w, within)
}

// ForFile is WithWriteDeadlines for the answer to a request for a file with a number of bytes.
func ForFile(w http.ResponseWriter, r *http.Request, bytes int64) http.ResponseWriter {
	p := withDeadlines(w, TransferTimeout(bytes))
	p.copies = r.TLS == nil && r.ProtoMajor == 1
	return p
}

func withDeadlines(w http.ResponseWriter, within time.Duration) *deadlineWriter {
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
	copies  bool      // the system copies files to the connection
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
	if file, ok := left.R.(*os.File); ok && p.copies {
		return p.copyFile(file, left)
	}
	for left.N > 0 {
		k, err := p.copyPiece(left, pieceSize)
		if n += k; err != nil {
			return n, unlessEnd(err)
		}
	}
	return n, nil
}

// copyPiece writes at most a number of bytes, within the time of a piece.
func (p *deadlineWriter) copyPiece(left *io.LimitedReader, most int64) (n int64, err error) {
	p.extendDeadline()
	n, err = io.CopyN(p.ResponseWriter, left.R, min(most, left.N))
	left.N -= n
	return n, err
}

// copyFile has the system copy a file, in large pieces. A client that has read a part of a piece in its time, of at least pieceSize, gets the rest in a new one. That works without TLS only: a
// connection of TLS is of no use after a write that ran out of time.
func (p *deadlineWriter) copyFile(file *os.File, left *io.LimitedReader) (n int64, err error) {
	from, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	for left.N > 0 {
		k, err := p.copyPiece(left, filePieceSize)
		n += k
		if k >= pieceSize && errors.Is(err, os.ErrDeadlineExceeded) {
			_, err = file.Seek(from+n, io.SeekStart) // more was read of the file, if it was not the system that copied it
		}
		if err != nil {
			return n, unlessEnd(err)
		}
	}
	return n, nil
}

// unlessEnd is an error of io.CopyN; nil at the end of what was copied.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Flush writes what is buffered.
func (p *deadlineWriter) Flush() {
	p.extendDeadline()
	_ = p.control.Flush() // the client may have disconnected
}

// Unwrap returns the wrapped writer.
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
