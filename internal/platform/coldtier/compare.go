package coldtier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

const (
	// itemsOfSegment is how many items a segment counts as, beside one for each bytesOfItem of its file, all of which are read.
	itemsOfSegment = 10
	bytesOfItem    = 64 << 10
)

// Comparison compares the segments that readers use with their files: each is there, with its size and its checksum.
func (t *Tier) Comparison() reconciliation.Comparison { return segmentComparison{t} }

type segmentComparison struct{ *Tier }

// Name is a reconciliation.Comparison's.
func (segmentComparison) Name() string { return "segments" }

// Compare is a reconciliation.Comparison's. A position is the last file.
func (t segmentComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	most := max(1, limit/itemsOfSegment)
	rows, err := t.deps.DB.Read().QueryContext(ctx, `SELECT file, size, checksum FROM cold_segments WHERE file > $1 AND state = 1 ORDER BY file LIMIT $2`, after, most)
	var list []SegmentRow
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		var s SegmentRow
		err := r.Scan(&s.File, &s.Size, &s.Checksum)
		list = append(list, s)
		return err
	})
	if err != nil {
		return step, err
	}
	for i := range list {
		if step.Items >= limit {
			return step, nil
		}
		d, err := t.fault(ctx, &list[i])
		if err != nil && i > 0 { // the time of the step is over, perhaps: the next one begins here
			return step, nil
		}
		if err != nil {
			return reconciliation.Step{}, err
		}
		step.Items += itemsOfSegment + int(list[i].Size/bytesOfItem)
		step.Next = list[i].File
		if d != nil {
			step.Differences = append(step.Differences, *d)
		}
	}
	if len(list) < most {
		step.Next = ""
	}
	return step, nil
}

// fault says what is wrong with the file of a segment; nil if nothing is, or if readers do not use it any more.
func (t segmentComparison) fault(ctx context.Context, s *SegmentRow) (d *reconciliation.Difference, err error) {
	f, size, err := t.deps.Files.Open(ctx, s.File)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		d = reconciliation.FileDiffers(s.File, reconciliation.FileMissing, s.File, nil)
	case err != nil:
		return nil, err
	default:
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
		if unreadable := reconciliation.Unreadable(err); unreadable != nil {
			d = reconciliation.FileDiffers(s.File, reconciliation.FileUnreadable, s.File, unreadable)
		} else if err != nil {
			return nil, err
		} else if size != s.Size {
			d = reconciliation.FileDiffers(s.File, reconciliation.FileSize, s.File, reconciliation.Sizes(size, s.Size))
		} else if !bytes.Equal(sum.Sum(nil), s.Checksum) {
			d = reconciliation.FileDiffers(s.File, reconciliation.FileChanged, s.File, nil)
		}
	}
	if d == nil {
		return nil, nil
	}
	var isUsed bool
	err = t.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cold_segments WHERE file = $1 AND state = 1)`, s.File).Scan(&isUsed)
	if !isUsed {
		d = nil
	}
	return d, err
}

// Repair is a reconciliation.Comparison's. The messages of a segment are nowhere else: only a backup has the file.
func (t segmentComparison) Repair(ctx context.Context, file string) error {
	s := SegmentRow{File: file}
	err := t.deps.DB.Read().QueryRowContext(ctx, `SELECT size, checksum FROM cold_segments WHERE file = $1 AND state = 1`, file).Scan(&s.Size, &s.Checksum)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if d, err := t.fault(ctx, &s); err != nil || d == nil {
		return err
	}
	return reconciliation.ErrNoRepair
}
