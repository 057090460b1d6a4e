package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Run removes files that nothing needs, and gives up videos whose jobs have ended without a result, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: sweepInterval, AtStart: true, Round: s.sweep, Failed: "files of videos could not be removed; it is tried again", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

func (s *Service) sweep(ctx context.Context) error {
	return errors.Join(s.giveUp(ctx), s.startOverdue(ctx), s.dropIdle(ctx), s.clean(ctx))
}

// giveUp ends videos, and renditions on demand, of which a task has no result, and no job any more: its node died in each attempt, or an operator discarded it. It looks at the oldest job of each
// video that is left.
func (s *Service) giveUp(ctx context.Context) error {
	type open struct {
		n, run, job int64
	}
	var list []open
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT v.id, v.run, MIN(t.job) FROM videos v JOIN video_tasks t ON t.video = v.id WHERE v.id IN (SELECT id FROM videos WHERE state < 2 UNION SELECT video FROM video_on_demand WHERE remaining > 0)
		AND t.stored = 0 AND t.job > 0 GROUP BY v.id, v.run ORDER BY v.id LIMIT $1`, 10*sweepBatch)
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var o open
		err := rows.Scan(&o.n, &o.run, &o.job)
		list = append(list, o)
		return err
	}); err != nil {
		return err
	}
	for _, o := range list {
		j, err := s.deps.Jobs.Get(ctx, o.job)
		ended := err == nil && (j.State == job.Discarded || j.State == job.Cancelled)
		if err != nil && !errors.Is(err, job.ErrNoJob) {
			return err
		}
		if !ended && err == nil {
			continue
		}
		cause := fmt.Errorf("its job %d has ended: %s", o.job, j.Error)
		if err := s.giveUpJob(ctx, uint64(o.n), o.run, o.job, cause); err != nil {
			return err
		}
	}
	return nil
}

// giveUpJob gives up the tasks of a job that has ended, unless the video has ended or was retried meanwhile.
func (s *Service) giveUpJob(ctx context.Context, n uint64, run, number int64, cause error) error {
	var v *video
	var tasks []*task
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if v, err = getVideo(ctx, tx, n); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+taskColumns+` FROM video_tasks WHERE video = $1 AND job = $2 AND stored = 0`, int64(n), number)
		return sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			t, err := scanTask(rows.Scan)
			tasks = append(tasks, t)
			return err
		})
	})
	if errs.Is(err, errs.NotFound) || err == nil && v.run != run {
		return nil
	}
	for _, t := range tasks {
		err = errors.Join(err, s.giveUpTask(ctx, v, t, cause, true))
	}
	return err
}

// clean removes files of attempts that do not count, of videos that have ended. An attempt may write for some time after that, so it looks twice.
func (s *Service) clean(ctx context.Context) error {
	type due struct {
		n  uint64
		ms int64
	}
	var list []due
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, clean_ms FROM videos WHERE clean_ms > 0 AND clean_ms <= $1 ORDER BY clean_ms LIMIT $2`, s.nowMs(), sweepBatch)
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var d due
		err := rows.Scan(&d.n, &d.ms)
		list = append(list, d)
		return err
	}); err != nil {
		return err
	}
	var failed error
	for _, d := range list { // one that fails must not hold up the others
		if err := s.cleanVideo(ctx, d.n, d.ms); err != nil {
			failed = errors.Join(failed, fmt.Errorf("video %d: %w", d.n, err))
		}
	}
	return failed
}

// cleanVideo cleans a video whose clean_ms was due. If that changes meanwhile, it is cleaned again.
func (s *Service) cleanVideo(ctx context.Context, n uint64, dueMs int64) error {
	var v *video
	var tasks []*task
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if v, err = scanVideo(tx.QueryRowContext(ctx, `SELECT `+videoColumns+` FROM videos WHERE id = $1`, int64(n)).Scan); err != nil {
			return err
		}
		tasks, err = tasksOf(ctx, tx, n, "")
		return err
	})
	if err != nil {
		return err
	}
	all := v.state == stateDeleted || v.state == stateFailed && !v.retriable
	late := v.endedMs
	for _, t := range tasks {
		late = max(late, t.endedMs)
		if v.state == stateReady && t.job > 0 && t.stored == 0 {
			continue // it is being encoded, and its last attempt may count
		}
		for attempt := int64(1); attempt <= t.attempts && t.track != trackInspect; attempt++ {
			if attempt == t.stored && !all {
				continue
			}
			if err := s.deleteFiles(ctx, v, t, attempt); err != nil {
				return err
			}
		}
	}
	return s.cleaned(ctx, v, all, dueMs, late+lateAttempts.Milliseconds())
}

// cleaned notes to look again late, and removes the subtitles of a video of which no file is left. After the last time, nothing is left of a deleted video.
func (s *Service) cleaned(ctx context.Context, v *video, all bool, dueMs, late int64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if all { // such a video gets no more
			if _, err := tx.ExecContext(ctx, `DELETE FROM video_subtitles WHERE video = $1`, int64(v.id)); err != nil {
				return err
			}
		}
		if now := s.nowMs(); now < late {
			_, err := tx.ExecContext(ctx, `UPDATE videos SET clean_ms = $3 WHERE id = $1 AND run = $2 AND clean_ms = $4`, int64(v.id), v.run, late, dueMs)
			return err
		}
		if v.state != stateDeleted {
			_, err := tx.ExecContext(ctx, `UPDATE videos SET clean_ms = 0 WHERE id = $1 AND run = $2 AND clean_ms = $3`, int64(v.id), v.run, dueMs)
			return err
		}
		_, tasks := tx.ExecContext(ctx, `DELETE FROM video_tasks WHERE video = $1`, int64(v.id))
		_, tracks := tx.ExecContext(ctx, `DELETE FROM video_tracks WHERE video = $1`, int64(v.id))
		_, onDemand := tx.ExecContext(ctx, `DELETE FROM video_on_demand WHERE video = $1`, int64(v.id))
		_, viewers := tx.ExecContext(ctx, `DELETE FROM video_viewers WHERE video = $1`, int64(v.id))
		_, row := tx.ExecContext(ctx, `DELETE FROM videos WHERE id = $1`, int64(v.id))
		return errors.Join(tasks, tracks, onDemand, viewers, row)
	})
}
