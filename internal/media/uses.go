package media

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// Uses are the conversations that an upload was sent to, each with the time of the last. Where all messages expired that can
// have named an upload, it goes. One that is also a picture of a user or group stays, one that was never sent, and one from
// before uses were noted.

const (
	// usesAtOnce bounds the uploads looked at in one transaction.
	usesAtOnce = 500
	// slack is how much longer than its messages an upload is kept: it is noted before its message has a time, and the clock may
	// be set back between the two.
	slack = time.Hour
)

// Use notes that users send uploads to a conversation, and tells for each why they may not: by[i] sends uploads[i]. It is called
// before the messages are stored.
func (s *Service) Use(ctx context.Context, c id.Conversation, by []id.User, uploads []id.Upload) (refused []error) {
	refused = make([]error, len(uploads))
	for from := 0; from < len(uploads); from += usesAtOnce {
		to := min(from+usesAtOnce, len(uploads))
		s.useSome(ctx, c, by[from:to], uploads[from:to], refused[from:to])
	}
	return refused
}

func (s *Service) useSome(ctx context.Context, c id.Conversation, by []id.User, uploads []id.Upload, refused []error) {
	var not []int // taken: not one's own, not complete, or on its way out
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		not = not[:0]
		now := s.deps.Clock.Now().UnixMilli()
		for i, n := range uploads {
			done, err := tx.ExecContext(ctx, `INSERT INTO upload_uses (upload, conversation, used_ms) SELECT id, CAST($1 AS BIGINT), CAST($2 AS BIGINT) FROM uploads WHERE id = $3 AND owner = $4 AND complete > 0
				ON CONFLICT (upload, conversation) DO UPDATE SET used_ms = $2`, int64(c), now, int64(n), int64(by[i]))
			if err != nil {
				return err
			}
			if k, err := done.RowsAffected(); err != nil {
				return err
			} else if k == 0 {
				not = append(not, i)
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
	for _, i := range not {
		if refused[i] = s.Check(ctx, by[i], uploads[i]); refused[i] == nil {
			refused[i] = errNoUpload
		}
	}
}

// Expired is told that a conversation's messages from before a time are removed; again, it does no harm. Uploads that only they
// named are dropped, their bytes with the next sweep.
func (s *Service) Expired(ctx context.Context, c id.Conversation, beforeMs int64) error {
	beforeMs -= slack.Milliseconds()
	var some bool // most often there are none, and nothing is written
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM upload_uses WHERE conversation = $1 AND used_ms < $2)`, int64(c), beforeMs).Scan(&some); err != nil || !some {
		return err
	}
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
		if _, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = -1 WHERE id = $1 AND complete = 1 AND traced = 1 AND NOT EXISTS (SELECT 1 FROM upload_uses WHERE upload = $1)`, upload); err != nil {
			return 0, err
		}
	}
	return len(uploads), nil
}
