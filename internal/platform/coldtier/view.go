package coldtier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// View reads a manifest and its segments without changing anything, and without the caches of a Tier.
type View struct {
	DB    sqldb.Querier
	Files blob.Store
}

// Spans returns the first and last seq that the cold tier has of each conversation; first is above last if it has none any more.
func (v View) Spans(ctx context.Context) (map[uint64][2]uint64, error) {
	rows, err := v.DB.QueryContext(ctx, `SELECT conversation, first_seq, last_seq FROM cold_conversations`)
	if err != nil {
		return nil, err
	}
	spans := map[uint64]span{}
	if err := scanSpans(rows, spans); err != nil {
		return nil, err
	}
	all := map[uint64][2]uint64{}
	for c, s := range spans {
		all[c] = [2]uint64{s.first, s.last}
	}
	return all, nil
}

// Segment returns the segment that has the first entry at or after a seq, if there is one.
func (v View) Segment(ctx context.Context, conversation, seq uint64) (SegmentRow, bool, error) {
	return segmentFrom(ctx, v.DB, conversation, seq)
}

// Entries reads and checks a whole segment: the checksum of its file and of its parts, and that it has what the manifest says.
func (v View) Entries(ctx context.Context, conversation uint64, s SegmentRow) ([]timeline.Entry, error) {
	f, size, err := v.Files.Open(ctx, s.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	if size != s.Size || !bytes.Equal(sum.Sum(nil), s.Checksum) {
		return nil, fmt.Errorf("%w: its checksum is not that of the manifest", errSegment)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	of, list, err := readAll(f)
	if err != nil {
		return nil, err
	}
	if of != conversation || list[0].Seq != s.First || list[len(list)-1].Seq != s.Last {
		return nil, fmt.Errorf("%w: it has the entries %d to %d of conversation %d", errSegment, list[0].Seq, list[len(list)-1].Seq, of)
	}
	return list, nil
}
