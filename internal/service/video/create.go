package video

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// CreateVideo makes a video from an upload. The container is checked before anything is stored; of a file that is refused, nothing is kept.
func (s *Service) CreateVideo(ctx context.Context, by id.User, r *videov1.CreateVideoRequest) (*videov1.Video, error) {
	upload := id.Upload(r.Upload)
	if n, err := s.ofUpload(ctx, by, upload); err != nil || n != 0 {
		if err != nil {
			return nil, err
		}
		return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: n})
	}
	if err := s.off(); err != nil {
		return nil, err
	}
	format, name, err := s.checkUpload(ctx, by, upload)
	if err != nil {
		return nil, err
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	stored := n
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		stored, err = s.create(ctx, tx, &video{id: n, owner: by, upload: upload, name: name, format: format})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Jobs.Wake()
	return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: stored})
}

// ofUpload returns the video that a user made from an upload; 0: none.
func (s *Service) ofUpload(ctx context.Context, by id.User, upload id.Upload) (n uint64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM videos WHERE upload = $1 AND owner = $2 AND state <> $3`, int64(upload), int64(by), stateDeleted).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

// checkUpload checks the container of an upload. The file of one that is refused is dropped, unless something else names it.
func (s *Service) checkUpload(ctx context.Context, by id.User, upload id.Upload) (format transcode.Format, name string, err error) {
	select {
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
	file, size, name, err := s.deps.Uploads.OpenVideo(ctx, by, upload)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	format, err = transcode.Check(file, size)
	if transcode.IsRefusal(err) {
		if rerr := s.deps.Uploads.RejectVideo(ctx, by, upload); rerr != nil {
			return "", "", rerr // a retry checks the file again
		}
	}
	return format, name, err
}

// create stores a new video and its first job. If the upload has a video already, it returns that.
func (s *Service) create(ctx context.Context, tx *sql.Tx, v *video) (uint64, error) {
	var existing uint64
	err := tx.QueryRowContext(ctx, `SELECT id FROM videos WHERE upload = $1 AND owner = $2 AND state <> $3`, int64(v.upload), int64(v.owner), stateDeleted).Scan(&existing)
	if !errors.Is(err, sql.ErrNoRows) {
		return existing, err
	}
	if err := checkUnfinished(ctx, tx, v.owner); err != nil {
		return 0, err
	}
	v.createdMs = s.nowMs()
	return v.id, s.insert(ctx, tx, v, nil)
}

// insert stores a new video and its first job. The key is that of an imported one, or nil.
func (s *Service) insert(ctx context.Context, tx *sql.Tx, v *video, importKey any) error {
	if err := s.deps.Uploads.KeepVideoWith(ctx, tx, v.owner, v.upload); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO videos (id, owner, upload, name, format, source, renditions, created_ms, import_key) VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)`,
		int64(v.id), int64(v.owner), int64(v.upload), v.name, string(v.format), []byte{}, v.createdMs, importKey); err != nil {
		return err
	}
	return s.addTask(ctx, tx, v.id, 1, &task{track: trackInspect, weight: 1})
}

// checkUnfinished fails if too many videos of a user are processed for another one.
func checkUnfinished(ctx context.Context, tx *sql.Tx, by id.User) error {
	var unfinished int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM videos WHERE owner = $1 AND state < 2`, int64(by)).Scan(&unfinished); err != nil {
		return err
	}
	if unfinished >= maxUnfinished {
		return errTooMany
	}
	return nil
}

// RetryVideo processes a failed video again: the tasks without a result.
func (s *Service) RetryVideo(ctx context.Context, by id.User, r *videov1.RetryVideoRequest) (*videov1.Video, error) {
	if err := s.off(); err != nil {
		return nil, err
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := own(ctx, tx, by, r.Video)
		switch {
		case err != nil:
			return err
		case v.state != stateFailed: // a retry of this call
			return nil
		case !v.retriable:
			return errs.New(errs.Invalid, "not_retriable", "the file of this video is the cause of its failure; upload another one")
		}
		if err := checkUnfinished(ctx, tx, by); err != nil {
			return err
		}
		state := stateProcessing
		if v.source == nil {
			state = stateWaiting
		}
		if _, err := tx.ExecContext(ctx, `UPDATE videos SET state = $2, run = run + 1, reason = '', message = '', retriable = FALSE, storage_full_ms = 0, ended_ms = 0, clean_ms = 0, started_ms = $3 WHERE id = $1`, int64(v.id), state, s.nowMs()); err != nil {
			return err
		}
		if err := s.refreshStages(ctx, tx, v); err != nil {
			return err
		}
		tasks, err := tasksOf(ctx, tx, v.id, "")
		if err != nil {
			return err
		}
		tasks = slices.DeleteFunc(tasks, func(t *task) bool { return t.stored != 0 || t.job == 0 }) // it is done, or waits for its inputs
		for _, run := range sameJob(tasks) {
			if err := s.insertJob(ctx, tx, v, v.run+1, run...); err != nil {
				return err
			}
			for _, t := range run {
				if _, err := tx.ExecContext(ctx, `UPDATE video_tasks SET job = $4 WHERE video = $1 AND track = $2 AND first = $3`, int64(v.id), t.track, t.first, t.job); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.deps.Jobs.Wake()
	return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: r.Video})
}

// DeleteVideo deletes a video: nobody can play it from the commit on. The sweep removes its files.
func (s *Service) DeleteVideo(ctx context.Context, by id.User, n uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var owner id.User
		var upload id.Upload
		var state int64
		err := tx.QueryRowContext(ctx, `SELECT owner, upload, state FROM videos WHERE id = $1`, int64(n)).Scan(&owner, &upload, &state)
		switch {
		case errors.Is(err, sql.ErrNoRows) || err == nil && owner != by:
			return errNoVideo
		case err != nil || state == stateDeleted:
			return err
		}
		now := s.nowMs()
		if _, err = tx.ExecContext(ctx, `UPDATE videos SET state = $2, run = run + 1, ended_ms = $3, clean_ms = $3, upload = id, import_key = NULL WHERE id = $1`, int64(n), stateDeleted, now); err != nil {
			return err
		}
		if err = s.deps.Uploads.ReleaseVideoWith(ctx, tx, upload); err != nil {
			return err
		}
		return s.changed(ctx, tx, n)
	})
	if err == nil {
		s.committed(n)
		s.deps.Uploads.WakeSweep()
	}
	return err
}

// CheckVideo fails unless a user may name a video in a post, in the transaction of the post: it must be the user's own.
func (s *Service) CheckVideo(ctx context.Context, tx *sql.Tx, by id.User, n uint64) error {
	_, err := own(ctx, tx, by, n)
	return err
}
