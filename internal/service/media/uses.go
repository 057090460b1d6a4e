package media

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Uses are the conversations that an upload was sent to, each with the time of the latest message. When all messages that can
// refer to an upload have expired, the upload is deleted. It is kept if it is also a picture of a user or group, if it was never sent, or if it was
// created before uses were recorded.

const (
	// useBatchSize bounds the uploads in one transaction.
	useBatchSize = 500
	// usedTimeSlack is how much longer than its messages an upload is kept. A use is recorded before its message has a time,
	// and the clock may be set back in between.
	usedTimeSlack = time.Hour
)

// Use records that users send uploads to a conversation, and returns for each why it may not be sent: by[i] sends uploads[i]. It is
// called before the messages are stored.
func (s *Service) Use(ctx context.Context, c id.Conversation, by []id.User, uploads []id.Upload) (refused []error) {
	refused = make([]error, len(uploads))
	for from := 0; from < len(uploads); from += useBatchSize {
		to := min(from+useBatchSize, len(uploads))
		s.useBatch(ctx, c, s.deps.Clock.Now().UnixMilli(), by[from:to], uploads[from:to], refused[from:to])
	}
	return refused
}

// useBatch is Use of at most useBatchSize uploads, at a time. A later use that was recorded before stays.
func (s *Service) useBatch(ctx context.Context, c id.Conversation, usedMs int64, by []id.User, uploads []id.Upload, refused []error) {
	var rejected []int // refused: not the sender's own, not complete, or being dropped
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		rejected = rejected[:0]
		for i, n := range uploads {
			done, err := tx.ExecContext(ctx, `INSERT INTO upload_uses (upload, conversation, used_ms) SELECT id, CAST($1 AS BIGINT), CAST($2 AS BIGINT) FROM uploads WHERE id = $3 AND owner = $4 AND complete > 0
				ON CONFLICT (upload, conversation) DO UPDATE SET used_ms = CASE WHEN upload_uses.used_ms > $2 THEN upload_uses.used_ms ELSE $2 END`, int64(c), usedMs, int64(n), int64(by[i]))
			if err != nil {
				return err
			}
			if k, err := done.RowsAffected(); err != nil {
				return err
			} else if k == 0 {
				rejected = append(rejected, i)
			}
		}
		return nil
	})
	if err != nil {
		for i := range refused {
			refused[i] = err
		}
		return
	}
	for _, i := range rejected {
		if refused[i] = s.Check(ctx, by[i], uploads[i]); refused[i] == nil {
			refused[i] = errNoUpload
		}
	}
}

// Expired is called after a conversation's messages from before a time were deleted; repeated calls do no harm. Uploads of only these
// messages are dropped, their bytes by the next sweep, which is woken.
func (s *Service) Expired(ctx context.Context, c id.Conversation, beforeMs int64) error {
	beforeMs -= usedTimeSlack.Milliseconds()
	var changed bool // usually there are none, and nothing is written
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM upload_uses WHERE conversation = $1 AND used_ms < $2)`, int64(c), beforeMs).Scan(&changed); err != nil || !changed {
		return err
	}
	for {
		n := 0
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			n, err = removeUses(ctx, tx, c, beforeMs)
			return err
		})
		if n > 0 {
			s.WakeSweep()
		}
		if err != nil || n < useBatchSize {
			return err
		}
	}
}

// removeUses deletes expired uses, and marks the uploads without any remaining use.
func removeUses(ctx context.Context, tx *sql.Tx, c id.Conversation, beforeMs int64) (n int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT upload FROM upload_uses WHERE conversation = $1 AND used_ms < $2 LIMIT $3`, int64(c), beforeMs, useBatchSize)
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
		if _, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete = 1 AND traced = 1 AND NOT EXISTS (SELECT 1 FROM upload_uses WHERE upload = $1)`, upload); err != nil {
			return 0, err
		}
	}
	return len(uploads), nil
}
