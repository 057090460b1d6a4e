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
	// ItemsOfFile is how many items a file counts as, because it is opened, which may be a request to another server. Each bytesOfItem of it that are read count as one more.
	ItemsOfFile = 10
	bytesOfItem = 64 << 10
	// readRate is how many bytes a step reads in a second, so that other requests do not wait for the disk; more if its items need more than so many readSeconds. readBurst are read at once.
	readRate    = 32 << 20
	readSeconds = 20
	readBurst   = 4 << 20
)

// NewPace bounds how fast a step with so many items reads files.
func NewPace(limit int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(max(readRate, min(limit, 1<<30)*bytesOfItem/readSeconds)), readBurst)
}

// Pieces of a file that were read, and their checksum (blob.AddPiece).
type Pieces struct {
	Count int64
	Sum   []byte
}

// String is the text of a position within a file, which ParsePieces reads.
func (p Pieces) String() string { return fmt.Sprintf("%d %x", p.Count, p.Sum) }

// ParsePieces reads String.
func ParsePieces(text string) (p Pieces, err error) {
	_, err = fmt.Sscanf(text, "%d %x", &p.Count, &p.Sum)
	return p, err
}

// Read reads the pieces of a file that follow, until so many items are used, but at least one. It reports whether all were read.
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
		if _, err := io.CopyN(sum, &pacedReader{ctx, file, pace}, n); err != nil {
			return items, false, err
		}
		offset += n
		items += int(n / bytesOfItem)
		p.Count++
		p.Sum = blob.AddPiece(p.Sum, sum.Sum(nil))
	}
	return items, true, nil
}

// pacedReader reads at a bounded rate, until its context ends.
type pacedReader struct {
	ctx  context.Context
	from io.Reader
	pace *rate.Limiter
}

func (r *pacedReader) Read(p []byte) (int, error) {
	if err := r.pace.WaitN(r.ctx, min(len(p), readBurst)); err != nil {
		return 0, err
	}
	return r.from.Read(p[:min(len(p), readBurst)])
}
