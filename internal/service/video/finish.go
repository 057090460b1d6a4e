package video

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// errSuperseded: another attempt has stored the result of the task, or the video has ended.
var errSuperseded = errors.New("the task is done, or the video has ended")

// keep stores the files of a task, and then its result, and closes the output. An attempt whose result does not count deletes its files.
func (s *Service) keep(ctx context.Context, v *video, t *task, o *output) error {
	defer o.close()
	attempt := t.attempts
	var sums [][]byte
	for i, f := range o.files {
		sum := blob.NewChecksumWriter(checksumPiece)
		content := io.TeeReader(io.NewSectionReader(f.file, f.begin, f.size), sum) // it is read once
		if err := s.deps.Store.Put(ctx, blobKey(v.id, t.track, t.first+int64(i), attempt), content, f.size); err != nil {
			return err
		}
		sums = append(sums, sum.Sum())
	}
	if err := s.reached("stored", v.partOf(t.track)); err != nil {
		return err
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := s.finish(ctx, tx, v, t, attempt)
		if err == nil && !done {
			err = errSuperseded
		}
		if err != nil {
			return err
		}
		return putResult(ctx, tx, v, t, o, encodeChecksums(attempt, sums))
	})
	if err != nil && !errors.Is(err, errSuperseded) {
		return err // it may have been committed; the sweep removes the files if not
	}
	if err != nil {
		return s.deleteFiles(ctx, v, t, attempt)
	}
	s.pause.end()
	s.addTime(v, t)
	s.addResult(v, t, o.size())
	if t.completes {
		s.stats.Completed.Add(1)
	}
	if len(v.waiting()) > 0 {
		s.deps.Jobs.Wake()
	}
	return s.reached("finished", v.partOf(t.track))
}

// deleteFiles deletes the files of an attempt at a task.
func (s *Service) deleteFiles(ctx context.Context, v *video, t *task, attempt int64) error {
	count := 1
	if stage := v.stageOf(t.track); stage != nil {
		count = len(stage.Outputs)
	}
	for i := range int64(count) {
		if err := s.deps.Store.Delete(ctx, blobKey(v.id, t.track, t.first+i, attempt)); err != nil {
			return err
		}
	}
	return nil
}

// putResult stores what is known of a task's file.
func putResult(ctx context.Context, tx *sql.Tx, v *video, t *task, o *output, checksums []byte) error {
	size := o.size()
	sizes := make([]int64, len(o.files))
	for i, f := range o.files {
		sizes[i] = f.size
	}
	if o.track == nil {
		info := encodeStoryboard(&o.images)
		if isStage(t.track) {
			info = encodeSizes(sizes)
		}
		_, err := tx.ExecContext(ctx, `UPDATE video_tasks SET size = $4, width = $5, height = $6, segments = $7, checksums = $8 WHERE video = $1 AND track = $2 AND first = $3`,
			int64(v.id), t.track, t.first, size, o.images.TileWidth, o.images.TileHeight, info, checksums)
		return err
	}
	segments, err := encodeSegments(o.track.Segments)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE video_tasks SET size = $4, start = $5, segments = $6, checksums = $7 WHERE video = $1 AND track = $2 AND first = $3`,
		int64(v.id), t.track, t.first, size, o.track.Segments[0].Start, segments, checksums); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO video_tracks (video, track, codecs, timescale, init) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (video, track) DO NOTHING`,
		int64(v.id), t.track, o.track.Codecs, o.track.Timescale, o.track.Init); err != nil {
		return err
	}
	var init []byte
	if err := tx.QueryRowContext(ctx, `SELECT init FROM video_tracks WHERE video = $1 AND track = $2`, int64(v.id), t.track).Scan(&init); err != nil {
		return err
	}
	if !bytes.Equal(init, o.track.Init) {
		return errors.New("the header of a chunk differs from that of the others: do all nodes have the same ffmpeg?")
	}
	return nil
}

// finish marks a task as done by an attempt, inserts the jobs of tasks that it was the last input of, and publishes the video if it was the last task. It reports
// whether the result counts. That of a task which another one with another job has replaced (encodeInstead) does not.
func (s *Service) finish(ctx context.Context, tx *sql.Tx, v *video, t *task, attempt int64) (bool, error) {
	now := s.nowMs()
	if v.isOnDemand(t.track) {
		return s.finishRendition(ctx, tx, v, t, attempt, now)
	}
	if done, err := setStored(ctx, tx, v, t, attempt, now); err != nil || !done {
		return false, err
	}
	remaining, err := countDown(ctx, tx, v)
	if err != nil || t.track == trackInspect {
		return err == nil, err
	}
	if v.isAwaited(t.track) {
		remaining, err = s.startStages(ctx, tx, v, remaining)
	}
	if err != nil || remaining > 0 {
		return err == nil, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE videos SET state = $2, ended_ms = $3, clean_ms = $3 WHERE id = $1`, int64(v.id), stateReady, now)
	return true, err
}

// setStored marks a task as done by an attempt, and reports whether the result counts.
func setStored(ctx context.Context, tx *sql.Tx, v *video, t *task, attempt, now int64) (bool, error) {
	from, to := v.statesOf(t.track)
	t.tookMs = spent(t, attempt, now)
	done, err := tx.ExecContext(ctx, `UPDATE video_tasks SET stored = $4, ended_ms = $7, spent_ms = spent_ms + $8 WHERE video = $1 AND track = $2 AND first = $3 AND stored = 0 AND job = $6
		AND EXISTS (SELECT 1 FROM videos WHERE id = $1 AND run = $5 AND state BETWEEN $9 AND $10)`, int64(v.id), t.track, t.first, attempt, v.run, t.job, now, t.tookMs, from, to)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// spent is how long an attempt that ends now took; of a run of several tasks, the part of this one. The time of a task that is given up was added when its last attempt failed.
func spent(t *task, attempt, now int64) int64 {
	if attempt == skipped || t.begunMs == 0 {
		return 0
	}
	return max(0, int64(float64(now-t.begunMs)*t.part))
}

// countDown counts a task that has ended, and returns how many remain. The video does not wait for storage then. It locks the row of the video, so the transactions that end its tasks see each other's.
func countDown(ctx context.Context, tx *sql.Tx, v *video) (remaining int64, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE videos SET remaining = remaining - 1, storage_full_ms = 0 WHERE id = $1 RETURNING remaining`, int64(v.id)).Scan(&remaining)
	return remaining, err
}

// fail gives a video up. If the file is the cause, it is dropped, and all that was made of it.
func (s *Service) fail(ctx context.Context, v *video, cause error, retriable bool) error {
	reason, message := "transcoding_failed", "the video could not be processed; try again later"
	if e := errs.Of(cause); !retriable || e.Kind == errs.Unavailable {
		reason, message = e.Reason, e.Message
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now := s.nowMs()
		done, err := tx.ExecContext(ctx, `UPDATE videos SET state = $2, reason = $3, message = $4, retriable = $5, ended_ms = $6, clean_ms = $6 WHERE id = $1 AND run = $7 AND state < 2`,
			int64(v.id), stateFailed, reason, message, retriable, now, v.run)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 || retriable {
			return err
		}
		return s.deps.Uploads.ReleaseVideoWith(ctx, tx, v.upload)
	})
	if err == nil {
		s.deps.Uploads.WakeSweep()
		s.deps.Logger.Warn("a video could not be processed", "video", v.id, "reason", reason, "retriable", retriable, "error", cause)
	}
	return err
}
