package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// itemsOfFile is how many items a file counts as: it is opened, which may be a request to another server.
const itemsOfFile = 10

// Comparison compares the results of tasks with their files: each is there, and has its size.
func (s *Service) Comparison() reconciliation.Comparison { return fileComparison{s} }

type fileComparison struct{ *Service }

// Name is a reconciliation.Comparison's.
func (fileComparison) Name() string { return "video_files" }

// result is the row of a task whose files count.
type result struct {
	video uint64
	task
}

// sizes are those of the files of a result, in their order.
func (r *result) sizes() ([]int64, error) {
	if isStage(r.track) {
		return sizesOf(&r.task)
	}
	return []int64{r.size}, nil
}

// Compare is a reconciliation.Comparison's. A position is the last video: its files are compared as a whole.
func (s fileComparison) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	at := uint64(0)
	if after != "" {
		if at, err = strconv.ParseUint(after, 10, 63); err != nil {
			return step, err
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM videos WHERE id > $1 AND state <> $2 ORDER BY id LIMIT $3`, int64(at), stateDeleted, max(1, limit/itemsOfFile))
	videos, err := sqldb.Column[uint64](rows, err)
	if err != nil {
		return step, err
	}
	for i, n := range videos {
		if step.Items >= limit {
			return step, nil
		}
		files, what, err := s.compareVideo(ctx, n)
		if err != nil && i > 0 { // the time of the step is over, perhaps: the next one begins here
			return step, nil
		}
		if err != nil {
			return reconciliation.Step{}, err
		}
		step.Items += 1 + files*itemsOfFile
		step.Next = strconv.FormatUint(n, 10)
		if what != "" {
			step.Differences = append(step.Differences, reconciliation.Difference{Subject: fmt.Sprint("video ", n), What: what})
		}
	}
	if len(videos) < max(1, limit/itemsOfFile) {
		step.Next = ""
	}
	return step, nil
}

// compareVideo compares the files of a video, and says what is wrong with them; "" if nothing is.
func (s fileComparison) compareVideo(ctx context.Context, n uint64) (files int, what string, err error) {
	list, err := s.results(ctx, n)
	if err != nil {
		return 0, "", err
	}
	wrong := 0
	for i := range list {
		r := &list[i]
		sizes, err := r.sizes()
		if err != nil {
			return files, "", err
		}
		for output, size := range sizes {
			files++
			key := blobKey(n, r.track, r.first+int64(output), r.stored)
			fault, err := s.fault(ctx, key, size)
			if err != nil {
				return files, "", err
			}
			if fault == "" {
				continue
			}
			if counts, err := s.isResult(ctx, r); err != nil {
				return files, "", err
			} else if !counts { // it was dropped meanwhile
				continue
			}
			if wrong++; wrong == 1 {
				what = key + ": " + fault
			}
		}
	}
	if wrong > 1 {
		what += fmt.Sprintf("; %d other files are missing or have other sizes", wrong-1)
	}
	return files, what, nil
}

// results returns the results of a video whose files are kept.
func (s fileComparison) results(ctx context.Context, n uint64) (list []result, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT t.track, t.first, t.stored, t.size, t.segments FROM video_tasks t JOIN videos v ON v.id = t.video
		WHERE t.video = $1 AND t.stored > 0 AND t.track <> $2 AND v.state <> $3 AND (v.state <> $4 OR v.retriable) ORDER BY t.track, t.first`, int64(n), trackInspect, stateDeleted, stateFailed)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		r := result{video: n}
		err := row.Scan(&r.track, &r.first, &r.stored, &r.size, &r.segments)
		list = append(list, r)
		return err
	})
	return list, err
}

// isResult reports whether a result still counts.
func (s fileComparison) isResult(ctx context.Context, r *result) (bool, error) {
	list, err := s.results(ctx, r.video)
	return slices.ContainsFunc(list, func(o result) bool { return o.track == r.track && o.first == r.first && o.stored == r.stored }), err
}

// fault says what is wrong with a file; "" if nothing is.
func (s fileComparison) fault(ctx context.Context, key string, want int64) (what string, err error) {
	file, size, err := s.deps.Store.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return "it is missing", nil
	}
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	if size != want {
		return fmt.Sprintf("it has %d bytes, and not %d", size, want), nil
	}
	return "", nil
}

// Repair is a reconciliation.Comparison's. The source of the video may be gone: only a backup has the files.
func (s fileComparison) Repair(ctx context.Context, subject string) error {
	number, ok := strings.CutPrefix(subject, "video ")
	n, err := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil {
		return fmt.Errorf("%q names no video", subject)
	}
	if _, what, err := s.compareVideo(ctx, n); err != nil || what == "" {
		return err
	}
	return reconciliation.ErrNoRepair
}
