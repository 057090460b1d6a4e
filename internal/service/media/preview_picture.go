package media

import (
	"bytes"
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// unsent is the conversation of the uses of pictures that were made for a message, but not sent yet.
	unsent id.Conversation = 0
	// unsentRetention is how long they are kept: a message may wait on a device that is offline.
	unsentRetention = 30 * 24 * time.Hour
)

// StorePreviewPicture stores a JPEG that the server made for a user's message as that user's upload. Unless a message with it is sent in
// time, it is dropped.
func (s *Service) StorePreviewPicture(ctx context.Context, u id.User, jpeg []byte, width, height int) (id.Upload, error) {
	next, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	n, now := id.Upload(next), s.deps.Clock.Now().UnixMilli()
	var refused error
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if refused, err = s.reserveQuota(ctx, tx, u, uint64(len(jpeg))); err != nil || refused != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, attempts, traced) VALUES ($1, $2, 'preview.jpg', $3, $4, 1, 1)`, int64(n), int64(u), int64(len(jpeg)), now)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return 0, err
	}
	sum, err := s.put(ctx, n, 1, bytes.NewReader(jpeg), int64(len(jpeg)))
	if err != nil {
		return 0, err // the sweep drops it
	}
	did, err := s.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO upload_uses (upload, conversation, used_ms) VALUES ($1, $2, $3)`, int64(n), int64(unsent), now); err != nil {
			return err
		}
		return addToTotal(ctx, tx, u, 0, -1)
	}, `UPDATE uploads SET complete = 1, stored = 1, checksum = $1, checksum_piece = $2, mime_type = 'image/jpeg', width = $3, height = $4 WHERE id = $5 AND complete = 0`, sum.sum, sum.piece, width, height, int64(n))
	if err == nil && !did {
		err = errNoUpload
	}
	return n, err
}
