package coldtier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
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
		what, err := t.fault(ctx, &list[i])
		if err != nil && i > 0 { // the time of the step is over, perhaps: the next one begins here
			return step, nil
		}
		if err != nil {
			return reconciliation.Step{}, err
		}
		step.Items += itemsOfSegment + int(list[i].Size/bytesOfItem)
		step.Next = list[i].File
		if what != "" {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: list[i].File, What: what})
		}
	}
	if len(list) < most {
		step.Next = ""
	}
	return step, nil
}

// fault says what is wrong with the file of a segment; "" if nothing is, or if readers do not use it any more.
func (t segmentComparison) fault(ctx context.Context, s *SegmentRow) (what string, err error) {
	f, size, err := t.deps.Files.Open(ctx, s.File)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		what = "its file is missing"
	case err != nil:
		return "", err
	default:
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		if size != s.Size {
			what = fmt.Sprintf("its file has %d bytes, and not %d", size, s.Size)
		} else if !bytes.Equal(sum.Sum(nil), s.Checksum) {
			what = "its file has another checksum"
		}
	}
	if what == "" {
		return "", nil
	}
	var isUsed bool
	err = t.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cold_segments WHERE file = $1 AND state = 1)`, s.File).Scan(&isUsed)
	if !isUsed {
		what = ""
	}
	return what, err
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
	if what, err := t.fault(ctx, &s); err != nil || what == "" {
		return err
	}
	return reconciliation.ErrNoRepair
}
