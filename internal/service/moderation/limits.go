package moderation

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// maxLimits bounds the users who are limited, since each node has them in memory.
const maxLimits = 10_000

var errTooManyLimits = errs.New(errs.Exhausted, "too_many_limits", "at most 10,000 users are limited at once; lift some limits first")

// limits are the users who are limited, with the times at which that began and ends, in milliseconds since 1970; an end of 0 is never. The map is never changed, only replaced.
type limits map[id.User]struct{ madeMs, endsMs int64 }

// LimitedSince returns when the limit of a user began, in milliseconds since 1970; 0: the user is not limited. It is by this node's memory: from the answer of the moderator's call on the node
// that answered, and on others within a second as a rule, and of half a minute at most while they read the database. It does not block.
func (s *Service) LimitedSince(u id.User) (ms int64) {
	all := s.limits.Load()
	if all == nil {
		return 0
	}
	if l, limited := (*all)[u]; limited && (l.endsMs == 0 || l.endsMs > s.nowMs()) {
		return l.madeMs
	}
	return 0
}

// action of the decision that makes a row with the target.
func (t target) action() moderationv1.Action {
	if t.limited {
		return moderationv1.Action_ACTION_LIMIT
	}
	return moderationv1.Action_ACTION_BAN
}

// auditName is the action in the audit log that makes such a row.
func (t target) auditName() string {
	if t.limited {
		return "limit.add"
	}
	return "ban.add"
}

// checkKnown fails unless there is a user.
func (s *Service) checkKnown(ctx context.Context, u id.User) error {
	found, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{uint64(u)}})
	if errs.Is(err, errs.NotFound) || err == nil && len(found) == 0 {
		err = errNoTarget
	}
	return err
}

// admitLimit admits one more limit, and tells nodes of it.
func (s *Service) admitLimit(ctx context.Context, tx *sql.Tx) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM moderation_bans WHERE limited AND lifted_ms = 0 AND (ends_ms = 0 OR ends_ms > $1)`, s.nowMs()).Scan(&n); err != nil {
		return err
	}
	if n >= maxLimits {
		return errTooManyLimits
	}
	return s.addEvent(ctx, tx)
}

func (s *Service) reloadLimits(ctx context.Context) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT about, made_ms, ends_ms FROM moderation_bans WHERE limited AND lifted_ms = 0 AND (ends_ms = 0 OR ends_ms > $1)`, s.nowMs())
	fresh := limits{}
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var madeMs, endsMs int64
		if err := rows.Scan(&u, &madeMs, &endsMs); err != nil {
			return err
		}
		l, known := fresh[u]
		if !known || madeMs < l.madeMs {
			l.madeMs = madeMs
		}
		if !known || l.endsMs != 0 && (endsMs == 0 || endsMs > l.endsMs) {
			l.endsMs = endsMs
		}
		fresh[u] = l
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(fresh) == 0:
		s.limits.Store(nil)
	default:
		s.limits.Store(&fresh)
	}
	return nil
}
