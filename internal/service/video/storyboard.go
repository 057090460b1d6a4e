package video

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// doStoryboard makes the storyboard of the smallest rendition, whose decoding costs a tenth of that of the file.
func (s *Service) doStoryboard(ctx context.Context, v *video, t *task) error {
	dir, remove, err := s.tempDir(v)
	if err != nil {
		return err
	}
	defer remove()
	path := filepath.Join(dir, "rendition.mp4")
	if err := s.copyRendition(ctx, v, v.renditions[0].Name, path); err != nil {
		return err
	}
	b, err := s.deps.Transcoder.StoryboardOf(ctx, path, v.source, dir)
	if err != nil {
		return err
	}
	o, err := outputOf(b.Path, nil)
	if err != nil {
		return err
	}
	o.images = *b
	return s.keep(ctx, v, t, o)
}

// copyRendition writes a complete rendition into a file.
func (s *Service) copyRendition(ctx context.Context, v *video, track, path string) error {
	var p *progress
	if err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		p, err = load(ctx, tx, v, track)
		return err
	}); err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return s.copyTrack(ctx, p, track, w) })
}

// writeFile writes a new file.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// startOverdue inserts the jobs of tasks that wait for results which are there: the task that stored the last one was done by a node of a release before, which knows fewer
// tasks that wait.
func (s *Service) startOverdue(ctx context.Context) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM videos v WHERE state = $1 AND NOT EXISTS (SELECT 1 FROM video_tasks WHERE video = v.id AND stored = 0 AND job > 0) ORDER BY id LIMIT $2`, stateProcessing, sweepBatch)
	list, err := sqldb.Column[uint64](rows, err)
	if err != nil {
		return err
	}
	for _, n := range list {
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			// It locks the row, as countDown does.
			if _, err := tx.ExecContext(ctx, `UPDATE videos SET remaining = remaining WHERE id = $1`, int64(n)); err != nil {
				return err
			}
			v, err := scanVideo(tx.QueryRowContext(ctx, `SELECT `+videoColumns+` FROM videos WHERE id = $1`, int64(n)).Scan)
			if errors.Is(err, errNoVideo) || err == nil && v.state != stateProcessing {
				return nil
			}
			if err == nil {
				_, err = s.startStages(ctx, tx, v, v.remaining)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(list) > 0 {
		s.deps.Jobs.Wake()
	}
	return nil
}
