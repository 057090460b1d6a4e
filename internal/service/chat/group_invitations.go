package chat

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errNotInvited = errs.New(errs.NotFound, "not_invited", "this user has no invitation to the group, or has answered it")

// ListGroupInvitations returns a page of the users who are invited to a group and have not answered, by user id. Admins may ask.
func (s *Service) ListGroupInvitations(ctx context.Context, c id.Conversation, by id.User, limit uint32, page string) (*chatv1.ListGroupInvitationsResponse, error) {
	if _, err := s.requireAdmin(ctx, c, by); err != nil {
		return nil, err
	}
	from, err := pagetoken.Start(page, uint64(0))
	if err != nil {
		return nil, err
	}
	size := outputlimit.PageSize(limit)
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT member, inviter, time_ms FROM join_requests WHERE conversation = $1 AND member >= $2 AND inviter <> 0 ORDER BY member LIMIT $3`,
		int64(c), int64(from), size+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &chatv1.ListGroupInvitationsResponse{}
	for rows.Next() {
		i := &chatv1.GroupInvitation{}
		if err := rows.Scan(&i.User, &i.Inviter, &i.TimeMs); err != nil {
			return nil, err
		}
		if len(out.Invitations) == size {
			out.Next = id.User(i.User).String()
			break
		}
		out.Invitations = append(out.Invitations, i)
	}
	return out, rows.Err()
}

// CancelInvitation takes back a user's invitation to a group, and tells the user. Admins may, and the member who invited.
func (s *Service) CancelInvitation(ctx context.Context, c id.Conversation, by, u id.User) error {
	_, notAdmin := s.requireAdmin(ctx, c, by)
	if notAdmin != nil && errs.Of(notAdmin).Reason != errNotAllowed.Reason {
		return notAdmin
	}
	return s.changeInvitations(ctx, c, 0, func(tx *sql.Tx) ([]id.User, error) {
		n, err := rowsAffected(tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member = $2 AND inviter <> 0 AND (inviter = $3 OR $4)`,
			int64(c), int64(u), int64(by), notAdmin == nil))
		switch {
		case err != nil:
			return nil, err
		case n == 0 && notAdmin != nil: // who may not see the invitations does not learn who is invited
			return nil, notAdmin
		case n == 0:
			return nil, errNotInvited
		}
		return []id.User{u}, nil
	})
}
