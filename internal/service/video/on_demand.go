package video

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// playedStep is how exactly it is known when a rendition was last played. Each step is one write, whoever plays it.
const playedStep = time.Hour

// Stats count renditions on demand on this node.
type Stats struct {
	Requested atomic.Int64 // begun because a user asked for them
	Popular   atomic.Int64 // begun because enough users had watched the video
	Completed atomic.Int64
	Failed    atomic.Int64 // given up
	Dropped   atomic.Int64 // deleted because nobody played them
}

// Stats of this node.
func (s *Service) Stats() *Stats { return &s.stats }

// onDemandState is a row of video_on_demand, of a rendition on demand that was started at least once. It is being encoded, or complete, or neither: it has failed, or was
// dropped. A nil state is of one that was never started.
type onDemandState struct {
	track                        string
	remaining, playedMs, retryMs int64
}

// isEncoding reports whether it is being encoded.
func (d *onDemandState) isEncoding() bool { return d != nil && d.remaining > 0 }

// isComplete reports whether it is complete.
func (d *onDemandState) isComplete() bool { return d != nil && d.playedMs > 0 }

func (v *video) isOnDemand(track string) bool {
	r := v.rendition(track)
	return r != nil && r.OnDemand
}

// onDemandRenditions returns the renditions on demand.
func (v *video) onDemandRenditions() (list []*rendition) {
	for i := range v.renditions {
		if v.renditions[i].OnDemand {
			list = append(list, &v.renditions[i])
		}
	}
	return list
}

// statesOf returns the first and the last state of a video in which tasks of a track are done.
func (v *video) statesOf(track string) (from, to int64) {
	if v.isOnDemand(track) {
		return stateReady, stateReady
	}
	return stateWaiting, stateProcessing
}

// onDemandStatesOf returns those of a video, by track.
func onDemandStatesOf(ctx context.Context, tx *sql.Tx, v *video) (map[string]*onDemandState, error) {
	found := map[string]*onDemandState{}
	if len(v.onDemandRenditions()) == 0 {
		return found, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT track, remaining, used_ms, retry_ms FROM video_on_demand WHERE video = $1`, int64(v.id))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		d := &onDemandState{}
		err := rows.Scan(&d.track, &d.remaining, &d.playedMs, &d.retryMs)
		found[d.track] = d
		return err
	})
	return found, err
}

// isPending reports whether tasks of a track may be done: of a rendition on demand only while it is being encoded. Jobs of one that was given up find nothing to do.
func isPending(ctx context.Context, tx *sql.Tx, v *video, track string) (bool, error) {
	if !v.isOnDemand(track) {
		return true, nil
	}
	states, err := onDemandStatesOf(ctx, tx, v)
	return states[track].isEncoding(), err
}

// finishRendition is finish for a task of a rendition on demand. The last one completes the rendition. It locks the row of the rendition first, as all do who change both.
func (s *Service) finishRendition(ctx context.Context, tx *sql.Tx, v *video, t *task, attempt, now int64) (bool, error) {
	var remaining int64
	err := tx.QueryRowContext(ctx, `UPDATE video_on_demand SET remaining = remaining - 1 WHERE video = $1 AND track = $2 AND remaining > 0 RETURNING remaining`, int64(v.id), t.track).Scan(&remaining)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil // it was given up
	}
	if err != nil {
		return false, err
	}
	done, err := setStored(ctx, tx, v, t, attempt, now)
	if err == nil && done {
		_, err = tx.ExecContext(ctx, `UPDATE videos SET storage_full_ms = 0 WHERE id = $1 AND storage_full_ms > 0`, int64(v.id))
	}
	if err != nil || !done || remaining > 0 {
		return done, err
	}
	t.completes = true
	_, rendition := tx.ExecContext(ctx, `UPDATE video_on_demand SET used_ms = $3, wanted_by = 0 WHERE video = $1 AND track = $2`, int64(v.id), t.track, now)
	_, files := tx.ExecContext(ctx, `UPDATE videos SET clean_ms = $2 WHERE id = $1 AND state = $3`, int64(v.id), now, stateReady)
	return true, errors.Join(rendition, files)
}

// notePlayed stores that a rendition is played. Playback does not depend on it.
func (s *Service) notePlayed(ctx context.Context, n uint64, d *onDemandState) {
	now := s.nowMs()
	if !d.isComplete() || now-d.playedMs < playedStep.Milliseconds() {
		return
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE video_on_demand SET used_ms = $3 WHERE video = $1 AND track = $2 AND used_ms > 0 AND used_ms < $4`, int64(n), d.track, now, now-playedStep.Milliseconds()+1)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("the use of a rendition could not be stored; if this continues, the rendition is deleted as unused", "video", n, "rendition", d.track, "error", err)
	}
}
