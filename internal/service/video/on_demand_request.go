package video

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

var (
	errNoRendition      = errs.New(errs.NotFound, "no_rendition", "the video has no such rendition; GetVideo lists those that it has")
	errTooManyRequested = errs.New(errs.Exhausted, "too_many_renditions", fmt.Sprintf("%d renditions that you asked for are being encoded; wait until one is complete", maxRequested))
	errRenditionFailed  = errs.New(errs.Unavailable, "rendition_failed", "this rendition could not be encoded; try again in an hour, or play another one")
)

// RequestRendition begins to encode a rendition on demand, unless it is complete or being encoded, and returns the video.
func (s *Service) RequestRendition(ctx context.Context, by id.User, r *videov1.RequestRenditionRequest) (*videov1.Video, error) {
	if err := s.checkPost(ctx, by, r.Post, r.Video); err != nil {
		return nil, err
	}
	missing := false
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) { // most requests are for what others have asked for: they write nothing
		v, err := requestable(ctx, tx, by, r)
		if err == nil && v.isOnDemand(r.Rendition) {
			var states map[string]*onDemandState
			states, err = onDemandStatesOf(ctx, tx, v)
			missing = !states[r.Rendition].isEncoding() && !states[r.Rendition].isComplete()
		}
		return err
	})
	if err == nil && missing {
		err = s.requestOnDemand(ctx, by, r)
	}
	if err != nil {
		return nil, err
	}
	return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: r.Video, Post: r.Post})
}

// requestable returns a video with a rendition.
func requestable(ctx context.Context, tx *sql.Tx, by id.User, r *videov1.RequestRenditionRequest) (*video, error) {
	v, err := seen(ctx, tx, by, r.Post, r.Video)
	switch {
	case err != nil:
		return nil, err
	case v.state == stateFailed:
		return nil, errNoVideo
	case v.state != stateReady:
		return nil, errNotYet
	case v.rendition(r.Rendition) == nil:
		return nil, errNoRendition
	}
	return v, nil
}

// requestOnDemand begins to encode a rendition for a user.
func (s *Service) requestOnDemand(ctx context.Context, by id.User, r *videov1.RequestRenditionRequest) error {
	if err := s.off(); err != nil {
		return err
	}
	var started int
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := requestable(ctx, tx, by, r)
		if err != nil {
			return err
		}
		if started, err = s.startOnDemand(ctx, tx, v, []*rendition{v.rendition(r.Rendition)}, by); err != nil {
			return err
		}
		if started == 0 {
			states, err := onDemandStatesOf(ctx, tx, v)
			if d := states[r.Rendition]; err == nil && !d.isEncoding() && !d.isComplete() {
				err = errRenditionFailed
			}
			return err
		}
		var open int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM video_on_demand WHERE wanted_by = $1 AND remaining > 0`, int64(by)).Scan(&open); err != nil {
			return err
		}
		if open > maxRequested {
			return errTooManyRequested
		}
		return nil
	})
	if err != nil {
		return err
	}
	if started > 0 {
		s.stats.Requested.Add(1)
		s.deps.Jobs.Wake()
	}
	return s.reached("requested", "on-demand")
}

// startOnDemand inserts the tasks of renditions on demand, and their jobs, and returns of how many: it does nothing for one that is complete, is being encoded, or has
// failed a short time ago. So of all who want it at the same time, one starts it. by asked for it; 0: nobody did.
func (s *Service) startOnDemand(ctx context.Context, tx *sql.Tx, v *video, list []*rendition, by id.User) (int, error) {
	var started []*rendition
	for _, r := range list {
		done, err := tx.ExecContext(ctx, `INSERT INTO video_on_demand AS d (video, track, remaining, wanted_by) VALUES ($1, $2, $3, $4)
		ON CONFLICT (video, track) DO UPDATE SET remaining = excluded.remaining, wanted_by = excluded.wanted_by, retry_ms = 0 WHERE d.remaining = 0 AND d.used_ms = 0 AND d.retry_ms <= $5`,
			int64(v.id), r.Name, len(v.source.Chunks), int64(by), s.nowMs())
		if err != nil {
			return 0, err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return 0, err
		}
		if n > 0 {
			started = append(started, r)
		}
	}
	for _, run := range v.runsOf(started, nil, s.workers()) {
		if err := s.insertJob(ctx, tx, v, v.run, run...); err != nil {
			return 0, err
		}
		for _, t := range run {
			if _, err := tx.ExecContext(ctx, `INSERT INTO video_tasks (video, track, first, chunk, job, weight, segments) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (video, track, first) DO UPDATE SET job = excluded.job, node = '', started_ms = 0, begun_ms = 0, ended_ms = 0, spent_ms = 0, error = ''`,
				int64(v.id), t.track, t.first, t.chunk, t.job, t.weight, []byte{}); err != nil {
				return 0, err
			}
		}
	}
	return len(started), nil
}

// waitsForViewers reports whether a viewer counts (addViewer): there is a rendition on demand that is not started, and the viewer was not counted before, or enough were.
func (s *Service) waitsForViewers(ctx context.Context, tx *sql.Tx, v *video, by id.User) (bool, error) {
	states, err := onDemandStatesOf(ctx, tx, v)
	if err != nil {
		return false, err
	}
	waits := false
	for _, r := range v.onDemandRenditions() {
		d := states[r.Name]
		waits = waits || !d.isEncoding() && !d.isComplete() && (d == nil || d.retryMs <= s.nowMs())
	}
	if !waits {
		return false, nil
	}
	var all, own int
	err = tx.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN member = $2 THEN 1 END) FROM video_viewers WHERE video = $1`, int64(v.id), int64(by)).Scan(&all, &own)
	return own == 0 || all >= s.deps.Pipeline.OnDemand.Viewers && v.state == stateReady, err
}

// addViewer counts a viewer, once. When there are enough, it starts all renditions on demand, and counts anew for those that are dropped later. It returns how many it started.
func (s *Service) addViewer(ctx context.Context, tx *sql.Tx, n uint64, by id.User) (started int, err error) {
	v, err := getVideo(ctx, tx, n)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO video_viewers (video, member) VALUES ($1, $2) ON CONFLICT (video, member) DO NOTHING`, int64(n), int64(by)); err != nil {
		return 0, err
	}
	var viewers int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM video_viewers WHERE video = $1`, int64(n)).Scan(&viewers); err != nil {
		return 0, err
	}
	if viewers < s.deps.Pipeline.OnDemand.Viewers || v.state != stateReady {
		return 0, nil
	}
	if started, err = s.startOnDemand(ctx, tx, v, v.onDemandRenditions(), 0); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM video_viewers WHERE video = $1`, int64(n))
	return started, err
}
