package officialaccount

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// contact is what an account answered a user.
type contact struct {
	account, user id.User
	answeredSeq   uint64
	fallbackMs    int64 // when the fallback was sent last
	welcomedMs    int64
	windowMs      int64 // when the present window began
	windowCount   int   // replies in it
}

// readContact returns a row, or an empty one.
func readContact(ctx context.Context, q sqldb.Querier, account, u id.User) (*contact, error) {
	c := &contact{account: account, user: u}
	err := q.QueryRowContext(ctx, `SELECT answered_seq, fallback_ms, welcomed_ms, window_ms, window_count FROM official_contacts WHERE account = $1 AND contact = $2`, int64(account), int64(u)).
		Scan(&c.answeredSeq, &c.fallbackMs, &c.welcomedMs, &c.windowMs, &c.windowCount)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return c, err
}

// mayReply counts an automatic reply, and reports whether the user may get one more now. A clock that was set back begins a new window.
func (c *contact) mayReply(nowMs int64) bool {
	if passed := nowMs - c.windowMs; passed < 0 || passed >= replyWindow.Milliseconds() {
		c.windowMs, c.windowCount = nowMs, 0
	}
	if c.windowCount >= maxReplyBurst {
		return false
	}
	c.windowCount++
	return true
}

func (c *contact) store(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO official_contacts (account, contact, answered_seq, fallback_ms, welcomed_ms, window_ms, window_count) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (account, contact) DO UPDATE SET answered_seq = CASE WHEN official_contacts.answered_seq > $3 THEN official_contacts.answered_seq ELSE $3 END, fallback_ms = $4, welcomed_ms = $5, window_ms = $6, window_count = $7`,
		int64(c.account), int64(c.user), int64(c.answeredSeq), c.fallbackMs, c.welcomedMs, c.windowMs, c.windowCount)
	return err
}
