package media

import (
	"context"
	"database/sql"
	"io"

	"github.com/rialto-im/rialto/internal/base/id"
)

// A video is made from an upload, whose file belongs to the video from then on: it is kept without messages, and dropped with the video.

// OpenVideo opens the file of an upload from which a user may make a video: it must be the user's own, and complete.
func (s *Service) OpenVideo(ctx context.Context, by id.User, n id.Upload) (file io.ReadSeekCloser, size int64, name string, err error) {
	u, err := s.get(ctx, n)
	if err == nil {
		err = u.sendable(by)
	}
	if err != nil {
		return nil, 0, "", err
	}
	file, size, err = s.deps.Store.Open(ctx, blobKey(n, u.stored))
	return file, size, u.name, err
}

// KeepVideoWith keeps the file of an upload for a video, in the transaction of that. It fails unless the upload is the user's own, and complete.
func (s *Service) KeepVideoWith(ctx context.Context, tx *sql.Tx, by id.User, n id.Upload) error {
	u, err := getUpload(ctx, tx, n)
	if err == nil {
		err = u.sendable(by)
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE uploads SET complete = 2 WHERE id = $1 AND complete > 0`, int64(n))
	return err
}

// ReleaseVideoWith ends KeepVideoWith, in the transaction that ends the video. The file is dropped, unless a message refers to it: call WakeSweep
// after the commit.
func (s *Service) ReleaseVideoWith(ctx context.Context, tx *sql.Tx, n id.Upload) error {
	_, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = CASE WHEN EXISTS (SELECT 1 FROM upload_uses WHERE upload = $1) THEN 1 ELSE -2 END WHERE id = $1 AND complete = 2`, int64(n))
	return err
}

// RejectVideo gives up a user's upload of which no video can be made. Its file is dropped, unless something names it.
func (s *Service) RejectVideo(ctx context.Context, by id.User, n id.Upload) error {
	did, err := s.update(ctx, nil, `UPDATE uploads SET complete = -2 WHERE id = $1 AND owner = $2 AND complete = 1 AND traced = 1 AND NOT EXISTS (SELECT 1 FROM upload_uses WHERE upload = $1)`, int64(n), int64(by))
	if did {
		s.WakeSweep()
	}
	return err
}
