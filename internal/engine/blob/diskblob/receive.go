package diskblob

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

const (
	// largePiece of a file is read before it is written: large pieces cost fewer calls of the system. The first largePiece bytes come in pieces of smallPiece, so that a client that sends next to
	// nothing costs next to no memory.
	smallPiece, largePiece = 32 << 10, 256 << 10
	// storeAfter is how many bytes are written before the system is asked to store them.
	storeAfter = 1 << 20
)

// largeBuffers have the bytes of large pieces.
var largeBuffers = sync.Pool{New: func() any { return new([largePiece]byte) }}

// receive writes exactly size bytes of r to a file from an offset on, and syncs it. It fails with blob.ErrSize if r has more or fewer.
func receive(ctx context.Context, f *os.File, offset int64, r io.Reader, size int64) error {
	r = &reader{ctx, r}
	w := &writer{file: f, at: offset, asked: offset}
	n, err := w.writeAll(r, size)
	if err != nil {
		return err
	}
	more, err := io.Copy(io.Discard, io.LimitReader(r, 1))
	if err != nil {
		return err
	}
	if n != size || more > 0 {
		return blob.ErrSize
	}
	return f.Sync()
}

// writer writes a file piece by piece.
type writer struct {
	file      *os.File
	at, asked int64 // where the next piece belongs, and up to where the system was asked to store them
}

// writeAll writes what r has, at most a number of bytes, and returns how many that were.
func (w *writer) writeAll(r io.Reader, most int64) (n int64, err error) {
	n, end, err := w.writePieces(r, make([]byte, max(0, min(most, smallPiece))), min(most, largePiece))
	if err != nil || end || n >= most {
		return n, err
	}
	b := largeBuffers.Get().(*[largePiece]byte)
	defer largeBuffers.Put(b)
	k, _, err := w.writePieces(r, b[:], most-n)
	return n + k, err
}

// writePieces writes what r has, at most a number of bytes, in pieces of a buffer, and reports whether r has ended.
func (w *writer) writePieces(r io.Reader, buffer []byte, most int64) (n int64, end bool, err error) {
	for n < most && !end {
		var k int
		k, end, err = fill(r, buffer[:min(most-n, int64(len(buffer)))])
		n += int64(k)
		if err = errors.Join(w.write(buffer[:k]), err); err != nil {
			return n, end, err
		}
	}
	return n, end, nil
}

// fill reads until a buffer is full, or to the end. Unlike io.ReadFull, it tells the end of a file from a connection that breaks off, which is an io.ErrUnexpectedEOF of r.
func fill(r io.Reader, b []byte) (n int, end bool, err error) {
	for n < len(b) {
		k, err := r.Read(b[n:])
		if n += k; err == io.EOF {
			return n, true, nil
		}
		if err != nil {
			return n, true, err
		}
	}
	return n, false, nil
}

// write writes what follows, and lets the system begin to store it, so that the sync at the end waits for little.
func (w *writer) write(b []byte) error {
	n, err := w.file.WriteAt(b, w.at)
	w.at += int64(n)
	if w.at-w.asked >= storeAfter {
		beginToStore(w.file, w.asked, w.at-w.asked)
		w.asked = w.at
	}
	return err
}
