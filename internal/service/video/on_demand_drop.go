package video

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// dropIdle deletes renditions on demand that nobody has played for long. They are encoded again when somebody asks for them.
func (s *Service) dropIdle(ctx context.Context) error {
	type idle struct {
		n        uint64
		track    string
		playedMs int64
	}
	var list []idle
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT video, track, used_ms FROM video_on_demand WHERE used_ms > 0 AND used_ms < $1 ORDER BY used_ms LIMIT $2`,
		s.nowMs()-s.deps.Pipeline.OnDemand.DropAfter.Milliseconds(), sweepBatch)
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var i idle
		err := rows.Scan(&i.n, &i.track, &i.playedMs)
		list = append(list, i)
		return err
	}); err != nil {
		return err
	}
	for _, i := range list {
		dropped := false
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			dropped, err = s.discard(ctx, tx, i.n, i.track, `UPDATE video_on_demand SET used_ms = 0 WHERE video = $1 AND track = $2 AND used_ms = $3`, i.playedMs)
			if err != nil || !dropped {
				return err
			}
			return s.changed(ctx, tx, i.n) // edges have its files
		})
		if err != nil {
			return err
		}
		if dropped {
			s.committed(i.n)
			s.stats.Dropped.Add(1)
		}
	}
	return nil
}

// giveUpRendition ends the encoding of a rendition on demand that has failed. The video stays as it is. It is not tried again while attempts may still write.
func (s *Service) giveUpRendition(ctx context.Context, v *video, track string, cause error) error {
	given := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		given, err = s.discard(ctx, tx, v.id, track, `UPDATE video_on_demand SET remaining = 0, wanted_by = 0, retry_ms = $3 WHERE video = $1 AND track = $2 AND remaining > 0`, s.nowMs()+lateAttempts.Milliseconds())
		return err
	})
	if err == nil && given {
		s.stats.Failed.Add(1)
		s.deps.Logger.Warn("a rendition on demand could not be encoded", "video", v.id, "rendition", track, "error", cause)
	}
	return err
}

// discard ends a rendition on demand by an update of its row, and reports whether that changed it. The sweep deletes the files: tasks keep the number of their attempts, so no
// key is written twice. Another version of ffmpeg may make the next header.
func (s *Service) discard(ctx context.Context, tx *sql.Tx, n uint64, track, update string, value int64) (bool, error) {
	done, err := tx.ExecContext(ctx, update, int64(n), track, value)
	if err != nil {
		return false, err
	}
	if changed, err := done.RowsAffected(); err != nil || changed == 0 {
		return false, err
	}
	_, tasks := tx.ExecContext(ctx, `UPDATE video_tasks SET stored = 0, job = 0, size = 0, start = 0, segments = $3 WHERE video = $1 AND track = $2`, int64(n), track, []byte{})
	_, header := tx.ExecContext(ctx, `DELETE FROM video_tracks WHERE video = $1 AND track = $2`, int64(n), track)
	_, files := tx.ExecContext(ctx, `UPDATE videos SET clean_ms = $2, storage_full_ms = 0 WHERE id = $1 AND state = $3`, int64(n), s.nowMs(), stateReady)
	return true, errors.Join(tasks, header, files)
}
