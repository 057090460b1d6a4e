package media

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"golang.org/x/time/rate"
)

// fileComparison compares the rows of complete uploads with the files that are stored: each is there, and has its size and its checksum.
type fileComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (fileComparison) Name() string { return "files" }

// filePosition is behind what was compared last.
type filePosition struct {
	upload id.Upload
	// pieces of its file were compared; none: the upload was compared as a whole.
	pieces reconciliation.Pieces
}

func (p filePosition) String() string {
	if p.pieces.Count == 0 {
		return p.upload.String()
	}
	return fmt.Sprint(p.upload, " ", p.pieces)
}

func parseFilePosition(text string) (p filePosition, err error) {
	if text == "" {
		return p, nil
	}
	upload, within, isWithin := strings.Cut(text, " ")
	n, err := strconv.ParseInt(upload, 10, 64)
	if err == nil && isWithin {
		p.pieces, err = reconciliation.ParsePieces(within)
	}
	p.upload = id.Upload(n)
	return p, err
}

// Compare is a reconciliation.Comparison's. A large file is compared in several steps, piece by piece.
func (s fileComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at, err := parseFilePosition(after)
	if err != nil {
		return step, err
	}
	behind, most := int64(at.upload), max(1, limit/reconciliation.ItemsPerFile)
	if at.pieces.Count > 0 {
		behind--
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM uploads WHERE complete > 0 AND id > $1 ORDER BY id LIMIT $2`, behind, most)
	list, err := sqldb.Column[id.Upload](rows, err)
	if err != nil {
		return step, err
	}
	pace := reconciliation.NewReadLimiter(limit)
	return reconciliation.CompareParts(list, most, limit, func(n id.Upload, limit int) (reconciliation.Part, error) {
		c := fileCheck{fileComparison: s, pace: pace, at: filePosition{upload: n}, limit: limit}
		if n == at.upload {
			c.at = at
		}
		before := c.at.pieces.Count
		err := c.run(ctx)
		p := reconciliation.Part{Items: c.items, IsLast: c.ended, Found: c.found}
		if c.ended || c.at.pieces.Count > before {
			p.Next = c.position().String()
		}
		return p, err
	})
}

// fileCheck compares the file of one upload from a position on.
type fileCheck struct {
	fileComparison
	pace  *rate.Limiter
	at    filePosition
	limit int // of items; at least one piece is read
	items int
	ended bool // all of it was compared
	found *reconciliation.Difference
}

// position is behind what was compared.
func (c *fileCheck) position() filePosition {
	if c.ended {
		return filePosition{upload: c.at.upload}
	}
	return c.at
}

// differs ends the comparison of a file with what is wrong with it, unless the upload was dropped meanwhile.
func (c *fileCheck) differs(ctx context.Context, reason reconciliation.Reason, file string, values reconciliation.Values) error {
	_, err := c.get(ctx, c.at.upload)
	if errors.Is(err, errNoUpload) {
		c.ended = true
		return nil
	}
	if err == nil {
		c.ended, c.found = true, reconciliation.FileDiffers("upload "+c.at.upload.String(), reason, file, values)
	}
	return err
}

func (c *fileCheck) run(ctx context.Context) error {
	u, err := c.get(ctx, c.at.upload)
	if errors.Is(err, errNoUpload) || err == nil && u.complete == 0 { // it was dropped meanwhile
		c.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	c.items += reconciliation.ItemsPerFile
	key := blobKey(c.at.upload, u.stored)
	file, size, err := c.deps.Store.Open(ctx, key)
	switch unreadable := reconciliation.Unreadable(err); {
	case errors.Is(err, blob.ErrNotFound):
		return c.differs(ctx, reconciliation.FileMissing, key, nil)
	case unreadable != nil:
		return c.differs(ctx, reconciliation.FileUnreadable, key, unreadable)
	case err != nil:
		return err
	}
	if size != u.declared {
		err = c.differs(ctx, reconciliation.FileSize, key, reconciliation.Sizes(size, u.declared))
	} else if c.ended = u.checksum.sum == ""; !c.ended { // without a checksum it was stored by an earlier build
		err = c.readPieces(ctx, &u, key, file)
	}
	return errors.Join(err, file.Close())
}

// readPieces reads the pieces that follow, and compares the checksum of all.
func (c *fileCheck) readPieces(ctx context.Context, u *upload, key string, file io.ReadSeeker) error {
	items, all, err := c.at.pieces.Read(ctx, c.pace, file, u.declared, u.checksum.piece, c.limit-c.items)
	c.items += items
	if unreadable := reconciliation.Unreadable(err); unreadable != nil {
		return c.differs(ctx, reconciliation.FileUnreadable, key, unreadable)
	}
	if err != nil || !all {
		return err
	}
	if hex.EncodeToString(c.at.pieces.Sum) != u.checksum.sum {
		return c.differs(ctx, reconciliation.FileChanged, key, nil)
	}
	c.ended = true
	return nil
}

// Repair is a reconciliation.Comparison's. A file that is gone or damaged cannot be made again: the upload is dropped, so that clients are told that there is none, and the
// user's quota is free. Put a backup of the file in place before, if there is one.
func (s fileComparison) Repair(ctx context.Context, subject string) error {
	number, err := subjectID("upload", subject)
	if err != nil {
		return err
	}
	c := fileCheck{fileComparison: s, pace: reconciliation.NewReadLimiter(0), at: filePosition{upload: id.Upload(number)}, limit: math.MaxInt}
	if err := c.run(ctx); err != nil || c.found == nil {
		return err
	}
	if _, err := s.update(ctx, nil, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete > 0`, number); err != nil {
		return err
	}
	s.WakeSweep()
	return nil
}
