package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// maxInvitations bounds the invitations of a user. Beyond it, the oldest is deleted, and the user is told.
const maxInvitations = 50

var errNoInvitation = errs.New(errs.NotFound, "no_invitation", "you have no invitation to this group, or it is no longer valid; ask a member for a new one")

// withoutRequests returns the users who have not requested to join a group. The others have agreed to be added.
func (s *Service) withoutRequests(ctx context.Context, c id.Conversation, list []uint64) ([]id.User, error) {
	users := make([]id.User, len(list))
	for i, u := range list {
		users[i] = id.User(u)
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM join_requests WHERE conversation = $1 AND inviter = 0 AND member IN (`+marks+`)`, append([]any{int64(c)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var requested []id.User
	for rows.Next() {
		var u id.User
		if err := rows.Scan(&u); err != nil {
			return nil, err
		}
		requested = append(requested, u)
	}
	return without(users, requested), rows.Err()
}

// storeInvitations stores the invitations of users to a group, and notifies these users. A repeated invitation only changes the inviter.
func (s *Service) storeInvitations(ctx context.Context, c id.Conversation, by id.User, users []id.User) error {
	if len(users) == 0 {
		return nil
	}
	now := s.deps.Clock.Now().UnixMilli()
	return s.changeInvitations(ctx, c, by, func(tx *sql.Tx) (notify []id.User, err error) {
		for _, u := range users {
			n, err := rowsAffected(tx.ExecContext(ctx, `UPDATE join_requests SET inviter = $3 WHERE conversation = $1 AND member = $2 AND inviter <> 0`, int64(c), int64(u), int64(by)))
			if err != nil {
				return nil, err
			}
			if n > 0 {
				continue
			}
			n, err = rowsAffected(tx.ExecContext(ctx, `INSERT INTO join_requests (conversation, member, message, time_ms, inviter) VALUES ($1, $2, '', $3, $4) ON CONFLICT (conversation, member) DO NOTHING`,
				int64(c), int64(u), now, int64(by)))
			if err != nil {
				return nil, err
			}
			if n == 0 { // a request to join came in between; an admin answers it
				continue
			}
			if err := s.dropOldInvitations(ctx, tx, u); err != nil {
				return nil, err
			}
			notify = append(notify, u)
		}
		return notify, nil
	})
}

// dropOldInvitations deletes the oldest invitations of a user who has too many, and tells the user.
func (s *Service) dropOldInvitations(ctx context.Context, tx *sql.Tx, u id.User) error {
	rows, err := tx.QueryContext(ctx, `SELECT conversation FROM join_requests WHERE member = $1 AND inviter <> 0 ORDER BY time_ms DESC, conversation DESC LIMIT 1000 OFFSET $2`, int64(u), maxInvitations)
	if err != nil {
		return err
	}
	defer rows.Close()
	var old []id.Conversation
	for rows.Next() {
		var c id.Conversation
		if err := rows.Scan(&c); err != nil {
			return err
		}
		old = append(old, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, c := range old {
		if _, err := tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member = $2 AND inviter <> 0`, int64(c), int64(u)); err != nil {
			return err
		}
		if err := s.putInvitationsChange(ctx, tx, c, 0, []id.User{u}); err != nil {
			return err
		}
	}
	return nil
}

func rowsAffected(done sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// changeInvitations changes invitations to a group, and notifies the users that change returns through their streams. Inviter is 0 if the
// users have answered.
func (s *Service) changeInvitations(ctx context.Context, c id.Conversation, inviter id.User, change func(*sql.Tx) ([]id.User, error)) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		users, err := change(tx)
		if err != nil {
			return err
		}
		return s.putInvitationsChange(ctx, tx, c, inviter, users)
	})
	if err == nil && s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
	return err
}

// putInvitationsChange adds an event about an invitation to the users' streams. Inviter is 0 if it is over.
func (s *Service) putInvitationsChange(ctx context.Context, tx *sql.Tx, c id.Conversation, inviter id.User, users []id.User) error {
	if s.deps.Outbox == nil {
		return nil
	}
	raw, err := proto.Marshal(&chatv1.InvitationsChange{Conversation: uint64(c), Inviter: uint64(inviter)})
	if err != nil {
		return err
	}
	events := make([]job.Event, len(users))
	for i, u := range users {
		events[i] = job.Event{User: u, Body: message.AppendBody(nil, message.FieldInvitations, raw)}
	}
	return s.deps.Outbox.Put(ctx, tx, events...)
}

// deleteAnsweredInvitations deletes the invitations of those who are members now, however they joined: they must not find an old invitation
// after they have left.
func deleteAnsweredInvitations(ctx context.Context, tx *sql.Tx, c id.Conversation) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND inviter <> 0 AND EXISTS
		(SELECT 1 FROM members m WHERE m.conversation = join_requests.conversation AND m.member = join_requests.member AND m.leave_seq = 0 AND m.follower = FALSE)`, int64(c))
	return err
}

// ListInvitations returns the invitations of a user, the newest first. It omits those by users with whom a block exists.
func (s *Service) ListInvitations(ctx context.Context, u id.User) (*chatv1.ListInvitationsResponse, error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT c.id, c.title, j.inviter, j.time_ms FROM join_requests j JOIN conversations c ON c.id = j.conversation
		WHERE j.member = $1 AND j.inviter <> 0 AND c.dissolved = FALSE ORDER BY j.time_ms DESC, c.id DESC LIMIT $2`, int64(u), maxInvitations)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*chatv1.Invitation
	for rows.Next() {
		i := &chatv1.Invitation{}
		if err := rows.Scan(&i.Conversation, &i.Title, &i.Inviter, &i.TimeMs); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	out := &chatv1.ListInvitationsResponse{}
	for _, i := range all {
		blocked, err := s.deps.Relations.Blocked(ctx, u, id.User(i.Inviter))
		if err != nil {
			return nil, err
		}
		if !blocked {
			out.Invitations = append(out.Invitations, i)
		}
	}
	return out, nil
}

// AnswerInvitation makes an invited user a member, or declines the invitation. It adds the user in the name of the inviter, so an
// invitation is valid only while its inviter may invite.
func (s *Service) AnswerInvitation(ctx context.Context, c id.Conversation, u id.User, accept bool) (seq uint64, err error) {
	var inviter id.User
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT inviter FROM join_requests WHERE conversation = $1 AND member = $2 AND inviter <> 0`, int64(c), int64(u)).Scan(&inviter)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errNoInvitation
	}
	if err != nil {
		return 0, err
	}
	if accept {
		if seq, err = s.acceptInvitation(ctx, c, u, inviter); err != nil && !errors.Is(err, errNoInvitation) {
			return 0, err
		}
	}
	deleted := s.changeInvitations(ctx, c, 0, func(tx *sql.Tx) ([]id.User, error) {
		_, err := tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member = $2 AND inviter <> 0`, int64(c), int64(u))
		return []id.User{u}, err
	})
	return seq, errors.Join(err, deleted)
}

func (s *Service) acceptInvitation(ctx context.Context, c id.Conversation, u, inviter id.User) (uint64, error) {
	blocked, err := s.deps.Relations.Blocked(ctx, inviter, u)
	if err != nil { // the invitation may be valid
		return 0, err
	}
	if blocked {
		return 0, errNoInvitation
	}
	seq, err := s.addMembers(ctx, c, inviter, []id.User{u})
	if err != nil {
		switch errs.Of(err).Reason {
		case errNotAllowed.Reason, errNoConversation.Reason, errBanned.Reason, errDissolved.Reason:
			return 0, errNoInvitation
		}
	}
	return seq, err
}
