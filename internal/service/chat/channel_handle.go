package chat

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// The handle of a channel is in the row of its conversation, whose unique index decides between two channels. It opens nothing by itself: a
// channel is found by its handle as by its id, while its join policy is open.

// parseChannelHandle returns the stored form of a channel's handle; empty takes it away. In links, a number is an id.
func parseChannelHandle(handle string) (string, error) {
	if message.FoldHandle(handle) == "" {
		return "", nil
	}
	h, err := message.ParseHandle(handle)
	if err != nil {
		return "", err
	}
	if _, err := strconv.ParseUint(h, 10, 64); err == nil {
		return "", errs.New(errs.Invalid, "bad_handle", "a channel's handle is not only digits; add a letter")
	}
	return h, nil
}

// setHandle sets the handle of a channel, or takes it away. Only its owner may.
func (s *Service) setHandle(ctx context.Context, c id.Conversation, by id.User, handle string) error {
	st, err := s.requireAdmin(ctx, c, by)
	switch {
	case err != nil:
		return err
	case st.role(by) != roleOwner:
		return errNotAllowed
	case !st.channel:
		return errs.New(errs.Invalid, "bad_handle", "only a channel has a handle; share a link to this group instead")
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE conversations SET handle = $1 WHERE id = $2 AND NOT dissolved`, sql.NullString{String: handle, Valid: handle != ""}, int64(c))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errDissolved)
		}
		return nil
	})
	if sqldb.IsUnique(err) {
		return errs.New(errs.Conflict, "handle_taken", "this handle is taken; choose another")
	}
	return err
}

// conversationByHandle returns the channel with a handle. For an unknown handle the answer is that for a wrong link.
func (s *Service) conversationByHandle(ctx context.Context, handle string) (c id.Conversation, err error) {
	h, err := message.ParseHandle(handle)
	if err != nil {
		return 0, errBadLink
	}
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM conversations WHERE handle = $1`, h).Scan(&c)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errBadLink
	}
	return c, err
}
