package media

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/id"
)

// Uses are the conversations that an upload was sent to, each with the time of the last. Where all messages expired that can
// have named an upload, it goes. One that is also a picture of a user or group stays, and one that was never sent.

// usesAtOnce bounds the uploads looked at in one transaction.
const usesAtOnce = 500

// Use notes that a user sends an upload to a conversation, or tells why they may not. It is called before the message is stored.
func (s *Service) Use(ctx context.Context, by id.User, c id.Conversation, n id.Upload) error {
	if err := s.Check(ctx, by, n); err != nil {
		return err
	}
	// It may be on its way out since the check: then the condition does not hold.
	did, err := s.set(ctx, `INSERT INTO upload_uses (upload, conversation, used_ms) SELECT id, CAST($1 AS BIGINT), CAST($2 AS BIGINT) FROM uploads WHERE id = $3 AND complete > 0
		ON CONFLICT (upload, conversation) DO UPDATE SET used_ms = $2`, int64(c), s.deps.Clock.Now().UnixMilli(), int64(n))
	if err == nil && !did {
		err = errNoUpload
	}
	return err
}

// Expired is told that a conversation's messages from before a time have expired, before they are removed. Uploads that only
// they named are dropped, their bytes with the next sweep.
func (s *Service) Expired(ctx context.Context, c id.Conversation, beforeMs int64) error {
	for {
		n := 0
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			n, err = forget(ctx, tx, c, beforeMs)
			return err
		})
		if err != nil || n < usesAtOnce {
			return err
		}
	}
}

// forget takes uses away, and marks the uploads that were left without any.
func forget(ctx context.Context, tx *sql.Tx, c id.Conversation, beforeMs int64) (n int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT upload FROM upload_uses WHERE conversation = $1 AND used_ms < $2 LIMIT $3`, int64(c), beforeMs, usesAtOnce)
	if err != nil {
		return 0, err
	}
	var uploads []int64
	for rows.Next() {
		var upload int64
		if err := rows.Scan(&upload); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
		uploads = append(uploads, upload)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	for _, upload := range uploads {
		if _, err := tx.ExecContext(ctx, `DELETE FROM upload_uses WHERE upload = $1 AND conversation = $2`, upload, int64(c)); err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = -1 WHERE id = $1 AND complete = 1 AND NOT EXISTS (SELECT 1 FROM upload_uses WHERE upload = $1)`, upload); err != nil {
			return 0, err
		}
	}
	return len(uploads), nil
}
