package officialaccount

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// States of a delivery.
const (
	deliveryClaimed = 1 + iota // stored, and perhaps sent
	deliverySent
	deliveryFailed    // refused
	deliverySkipped   // the user no longer followed
	deliveryUncertain // given up, and perhaps sent: the next edit or recall tries it again
)

// delivery is a broadcast's message to one recipient, and the outcome of a try to send or to update it. Each delivery has its own delay between tries,
// so that a recipient who cannot be reached holds up nobody else.
type delivery struct {
	recipient    id.User
	tries        int  // that failed before
	fresh        bool // claimed by this step, so that nothing was sent before
	state        int  // after the try; 0: it is tried again
	conversation id.Conversation
	seq          uint64
	revision     uint32
	reason       string
	err          error // why it is tried again
	most         int   // tries, if it is tried again
}

const deliveryColumns = `recipient, conversation, seq, tries`

func (s *Service) queryDeliveries(ctx context.Context, query string, args ...any) (list []delivery, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var d delivery
		if err := rows.Scan(&d.recipient, &d.conversation, &d.seq, &d.tries); err != nil {
			return err
		}
		list = append(list, d)
		return nil
	})
	return list, err
}

// untried returns deliveries in a state, of an earlier revision, whose try has never failed. A claimed one has revision 0.
func (s *Service) untried(ctx context.Context, b *broadcast, state, limit int) ([]delivery, error) {
	return s.queryDeliveries(ctx, `SELECT `+deliveryColumns+` FROM official_deliveries WHERE broadcast = $1 AND state = $2 AND revision < $3 AND tries = 0 ORDER BY revision, recipient LIMIT $4`,
		int64(b.id), state, b.revision, limit)
}

// retries returns deliveries in a state, of an earlier revision, whose next try is due.
func (s *Service) retries(ctx context.Context, b *broadcast, state, limit int) ([]delivery, error) {
	return s.queryDeliveries(ctx, `SELECT `+deliveryColumns+` FROM official_deliveries WHERE broadcast = $1 AND state = $2 AND revision < $3 AND tries > 0 AND tries < $4 AND due_ms <= $5
		ORDER BY tries, revision, recipient LIMIT $6`, int64(b.id), state, b.revision, maxTries, s.nowMs(), limit)
}

// nextRetry returns when the next delivery is tried again, if there is one.
func nextRetry(ctx context.Context, tx *sql.Tx, b *broadcast) (dueMs sql.NullInt64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT MIN(due_ms) FROM official_deliveries WHERE broadcast = $1 AND tries > 0 AND tries < $2 AND (state = $3 OR state = $4 AND revision < $5)`,
		int64(b.id), maxTries, deliveryClaimed, deliverySent, b.revision).Scan(&dueMs)
	return dueMs, err
}

// retryAll makes the next step try all deliveries again that failed, also those that were given up, and returns how many of the latter there are. A
// cancelled broadcast is sent to nobody any more.
func retryAll(ctx context.Context, tx *sql.Tx, b *broadcast) (again uint32, err error) {
	if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET tries = 0, due_ms = 0 WHERE broadcast = $1 AND tries > 0`, int64(b.id)); err != nil {
		return 0, err
	}
	if b.state == cancelled {
		return 0, nil
	}
	claimed, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $2, reason = '' WHERE broadcast = $1 AND state = $3`, int64(b.id), deliveryClaimed, deliveryUncertain)
	if err != nil {
		return 0, err
	}
	n, err := claimed.RowsAffected()
	return uint32(n), err
}

// outage returns why the first of several tries failed, if all did, to recipients of whom at least one was not tried before. One recipient who cannot be
// reached says nothing about others, nor do several who could not be reached before.
func outage(tries []delivery) error {
	untried := false
	for _, d := range tries {
		if d.err == nil {
			return nil
		}
		untried = untried || d.tries == 0
	}
	if !untried || len(tries) < 2 {
		return nil
	}
	return tries[0].err
}

// logFailures logs why some tries failed.
func (s *Service) logFailures(b *broadcast, tries []delivery) {
	failed, cause := 0, error(nil)
	for _, d := range tries {
		if d.err != nil {
			failed, cause = failed+1, d.err
		}
	}
	if failed > 0 {
		s.deps.Logger.Warn("some messages of a broadcast are tried again", "broadcast", b.id, "messages", failed, "error", cause)
	}
}
