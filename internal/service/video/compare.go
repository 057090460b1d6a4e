package video

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"golang.org/x/time/rate"
)

// Comparison compares the results of tasks with their files: each is there, and has its size and its checksum.
func (s *Service) Comparison() reconciliation.Comparison { return fileComparison{s} }

type fileComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (fileComparison) Name() string { return "video_files" }

// result is the row of a task whose files count.
type result struct {
	video     uint64
	checksums []byte
	task
}

// sizes are those of the files of a result, in their order.
func (r *result) sizes() ([]int64, error) {
	if isStage(r.track) {
		return sizesOf(&r.task)
	}
	return []int64{r.size}, nil
}

// filePosition is that of a video whose files were compared; within: only those before a file of a result were, and pieces of that file.
type filePosition struct {
	video  uint64
	within bool
	track  string
	first  int64
	output int
	// pieces of the file of an attempt: another attempt's file begins anew.
	attempt int64
	pieces  reconciliation.Pieces
}

func (p filePosition) String() string {
	if !p.within {
		return strconv.FormatUint(p.video, 10)
	}
	text := fmt.Sprint(p.video, " ", p.first, " ", p.output, " ", p.track)
	if p.pieces.Count > 0 {
		text += fmt.Sprint(" ", p.attempt, " ", p.pieces)
	}
	return text
}

func parseFilePosition(text string) (p filePosition, err error) {
	if text == "" {
		return p, nil
	}
	video, within, isWithin := strings.Cut(text, " ")
	if p.video, err = strconv.ParseUint(video, 10, 63); err == nil && isWithin {
		p.within = true
		if _, err = fmt.Sscanf(within, "%d %d %s", &p.first, &p.output, &p.track); err == nil {
			if parts := strings.SplitN(within, " ", 4); len(parts) > 3 {
				err = p.parseWithinFile(parts[3])
			}
		}
	}
	return p, err
}

// parseWithinFile reads the attempt and the pieces of a position within a file.
func (p *filePosition) parseWithinFile(text string) (err error) {
	attempt, pieces, _ := strings.Cut(text, " ")
	if p.attempt, err = strconv.ParseInt(attempt, 10, 64); err == nil {
		p.pieces, err = reconciliation.ParsePieces(pieces)
	}
	return err
}

// Compare is a reconciliation.Comparison's. The files of a video are compared in several steps if they are many. A video is an item, too.
func (s fileComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at, err := parseFilePosition(after)
	if err != nil {
		return step, err
	}
	behind, most := int64(at.video), max(1, limit/reconciliation.ItemsPerFile)
	if at.within {
		behind--
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM videos WHERE id > $1 AND state <> $2 ORDER BY id LIMIT $3`, behind, stateDeleted, most)
	videos, err := sqldb.Column[uint64](rows, err)
	if err != nil {
		return step, err
	}
	pace := reconciliation.NewReadLimiter(limit)
	return reconciliation.CompareParts(videos, most, limit, func(n uint64, limit int) (reconciliation.Part, error) {
		c := videoCheck{fileComparison: s, pace: pace, at: filePosition{video: n}, limit: limit}
		if n == at.video {
			c.at = at
		}
		err := c.run(ctx)
		p := reconciliation.Part{Items: c.items, IsLast: !c.at.within, Found: c.found}
		if c.items > 0 {
			p.Next = c.at.String()
		}
		return p, err
	})
}

// videoCheck compares the files of a video from a position on.
type videoCheck struct {
	fileComparison
	pace  *rate.Limiter
	at    filePosition
	limit int // of items; at least one file is compared
	items int
	wrong int
	found *reconciliation.Difference // the first file that is wrong
}

func (c *videoCheck) run(ctx context.Context) error {
	for c.items < c.limit || c.items == 0 {
		most := max(1, (c.limit-c.items)/reconciliation.ItemsPerFile)
		list, err := c.results(ctx, c.at, most)
		if err != nil {
			return err
		}
		for i := range list {
			if err := c.compareResult(ctx, &list[i]); err != nil || c.items >= c.limit {
				return err
			}
		}
		if len(list) < most {
			c.items++
			c.at = filePosition{video: c.at.video}
			return nil
		}
	}
	return nil
}

// compareResult compares the files of a result that follow the position, until the items are used.
func (c *videoCheck) compareResult(ctx context.Context, r *result) error {
	sizes, err := r.sizes()
	if err != nil {
		return err
	}
	if r.track != c.at.track || r.first != c.at.first {
		c.at = filePosition{video: r.video, within: true, track: r.track, first: r.first}
	}
	sums := checksumsOf(r.checksums, r.stored)
	for c.at.output < len(sizes) {
		if c.items >= c.limit && c.items > 0 {
			return nil
		}
		f := wantedFile{key: blobKey(r.video, r.track, r.first+int64(c.at.output), r.stored), size: sizes[c.at.output]}
		if len(sums) == len(sizes) { // without checksums they were stored by an earlier build
			f.sum = sums[c.at.output]
		}
		all, err := c.compareFile(ctx, r, f)
		if err != nil || !all {
			return err
		}
		c.at.output++
		c.at.pieces = reconciliation.Pieces{}
	}
	c.at = filePosition{video: r.video, within: true, track: r.track, first: r.first + 1}
	return nil
}

// wantedFile is what a row says of a file.
type wantedFile struct {
	key  string
	size int64
	sum  []byte // nil: it is not known
}

// compareFile compares a file from the position on, until the items are used, and reports whether all of it was compared.
func (c *videoCheck) compareFile(ctx context.Context, r *result, f wantedFile) (all bool, err error) {
	if err := ctx.Err(); err != nil { // a disk does not ask
		return false, err
	}
	if c.at.attempt != r.stored { // the rendition was dropped and encoded again since the last step
		c.at.attempt, c.at.pieces = r.stored, reconciliation.Pieces{}
	}
	before := c.at.pieces.Count
	defer func() {
		if err == nil || c.at.pieces.Count > before { // else the next step opens it again, as if this one had not
			c.items += reconciliation.ItemsPerFile
		}
	}()
	d, all, err := c.fault(ctx, f)
	if err != nil || d == nil {
		return all, err
	}
	if counts, err := c.isResult(ctx, r); err != nil || !counts { // it was dropped meanwhile
		return true, err
	}
	if c.wrong++; c.wrong == 1 {
		c.found = d
	} else {
		c.found.Values[reconciliation.OtherFiles] = strconv.Itoa(c.wrong - 1)
	}
	return true, nil
}

// results returns some results of a video whose files are kept, from a position on.
func (s fileComparison) results(ctx context.Context, at filePosition, most int) (list []result, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT t.track, t.first, t.stored, t.size, t.segments, t.checksums FROM video_tasks t JOIN videos v ON v.id = t.video
		WHERE t.video = $1 AND (t.track, t.first) >= ($2, $3) AND t.stored > 0 AND t.track <> $4 AND v.state <> $5 AND (v.state <> $6 OR v.retriable) ORDER BY t.track, t.first LIMIT $7`,
		int64(at.video), at.track, at.first, trackInspect, stateDeleted, stateFailed, most)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		r := result{video: at.video}
		err := row.Scan(&r.track, &r.first, &r.stored, &r.size, &r.segments, &r.checksums)
		list = append(list, r)
		return err
	})
	return list, err
}

// isResult reports whether a result still counts.
func (s fileComparison) isResult(ctx context.Context, r *result) (bool, error) {
	list, err := s.results(ctx, filePosition{video: r.video, track: r.track, first: r.first}, 1)
	return len(list) == 1 && list[0].track == r.track && list[0].first == r.first && list[0].stored == r.stored, err
}

// fault says what is wrong with a file; nil if nothing is, as far as it was read.
func (c *videoCheck) fault(ctx context.Context, f wantedFile) (_ *reconciliation.Difference, all bool, err error) {
	differs := func(reason reconciliation.Reason, values reconciliation.Values) (*reconciliation.Difference, bool, error) {
		return reconciliation.FileDiffers(fmt.Sprint("video ", c.at.video), reason, f.key, values), true, nil
	}
	file, size, err := c.deps.Store.Open(ctx, f.key)
	switch unreadable := reconciliation.Unreadable(err); {
	case errors.Is(err, blob.ErrNotFound):
		return differs(reconciliation.FileMissing, nil)
	case unreadable != nil:
		return differs(reconciliation.FileUnreadable, unreadable)
	case err != nil:
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	switch {
	case size != f.size:
		return differs(reconciliation.FileSize, reconciliation.Sizes(size, f.size))
	case f.sum == nil || size == 0:
		return nil, true, nil
	}
	items, all, err := c.at.pieces.Read(ctx, c.pace, file, size, checksumPiece, c.limit-c.items-reconciliation.ItemsPerFile)
	c.items += items
	switch unreadable := reconciliation.Unreadable(err); {
	case unreadable != nil:
		return differs(reconciliation.FileUnreadable, unreadable)
	case err == nil && all && !bytes.Equal(c.at.pieces.Sum, f.sum):
		return differs(reconciliation.FileChanged, nil)
	}
	return nil, all, err
}

// Repair is a reconciliation.Comparison's. The source of the video may be gone: only a backup has the files.
func (s fileComparison) Repair(ctx context.Context, subject string) error {
	number, ok := strings.CutPrefix(subject, "video ")
	n, err := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil {
		return fmt.Errorf("%q names no video", subject)
	}
	c := videoCheck{fileComparison: s, pace: reconciliation.NewReadLimiter(0), at: filePosition{video: n}, limit: math.MaxInt}
	if err := c.run(ctx); err != nil || c.found == nil {
		return err
	}
	return reconciliation.ErrNoRepair
}
