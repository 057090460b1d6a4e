package reconciliation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"golang.org/x/time/rate"
)

const (
	// ItemsPerFile is how many items opening a file counts as, because it may be a request to another server. Reading bytesPerItem of it counts as one more item.
	ItemsPerFile = 10
	bytesPerItem = 64 << 10
	// readRate is the number of bytes that a step reads in a second, so that other requests do not wait for the disk. A step whose items would take longer than readSeconds reads faster. readBurst bytes are read at once.
	readRate    = 32 << 20
	readSeconds = 20
	readBurst   = 4 << 20
)

// NewReadLimiter returns the limiter for reading the files of a step with at most limit items.
func NewReadLimiter(limit int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(max(readRate, min(limit, 1<<30)*bytesPerItem/readSeconds)), readBurst)
}

// Pieces are the pieces of a file that have been read, and their checksum (blob.AddPiece).
type Pieces struct {
	Count int64
	Sum   []byte
}

// String returns a position within a file as text, which ParsePieces parses.
func (p Pieces) String() string { return fmt.Sprintf("%d %x", p.Count, p.Sum) }

// ParsePieces parses the result of String.
func ParsePieces(text string) (p Pieces, err error) {
	_, err = fmt.Sscanf(text, "%d %x", &p.Count, &p.Sum)
	return p, err
}

// Read reads the next pieces of a file, at least one, until it has used limit items. It reports whether all pieces have been read.
func (p *Pieces) Read(ctx context.Context, pace *rate.Limiter, file io.ReadSeeker, size, piece int64, limit int) (items int, all bool, err error) {
	offset := p.Count * piece
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return 0, false, err
	}
	for isFirst := true; offset < size; isFirst = false {
		if !isFirst && items >= limit {
			return items, false, nil
		}
		n := min(piece, size-offset)
		sum := sha256.New()
		if _, err := io.CopyN(sum, &limitedReader{ctx, file, pace}, n); err != nil {
			return items, false, err
		}
		offset += n
		items += int(n / bytesPerItem)
		p.Count++
		p.Sum = blob.AddPiece(p.Sum, sum.Sum(nil))
	}
	return items, true, nil
}

// limitedReader reads at a bounded rate, until its context ends.
type limitedReader struct {
	ctx  context.Context
	from io.Reader
	pace *rate.Limiter
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if err := r.pace.WaitN(r.ctx, min(len(p), readBurst)); err != nil {
		return 0, err
	}
	return r.from.Read(p[:min(len(p), readBurst)])
}
