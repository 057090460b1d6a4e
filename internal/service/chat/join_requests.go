package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// requestToJoin stores a join request. Only the first request notifies the admins; a repeated one changes its message.
func (s *Service) requestToJoin(ctx context.Context, st *state, u id.User, message string) error {
	return s.changeJoinRequests(ctx, st, u, func(tx *sql.Tx) (sql.Result, error) {
		done, err := tx.ExecContext(ctx, `UPDATE join_requests SET message = $3 WHERE conversation = $1 AND member = $2 AND inviter = 0`, int64(st.id), int64(u), message)
		if err != nil {
			return nil, err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return nil, err
		}
		return tx.ExecContext(ctx, `INSERT INTO join_requests (conversation, member, message, time_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (conversation, member) DO NOTHING`,
			int64(st.id), int64(u), message, s.deps.Clock.Now().UnixMilli())
	})
}

// changeJoinRequests changes the requests of a group and, if that changed a row, notifies the admins through their streams.
func (s *Service) changeJoinRequests(ctx context.Context, st *state, requester id.User, change func(*sql.Tx) (sql.Result, error)) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := change(tx)
		if err != nil || done == nil || s.deps.Outbox == nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		event := &chatv1.JoinRequests{Conversation: uint64(st.id), User: uint64(requester)}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM join_requests WHERE conversation = $1 AND inviter = 0`, int64(st.id)).Scan(&event.Waiting); err != nil {
			return err
		}
		raw, err := proto.Marshal(event)
		if err != nil {
			return err
		}
		var events []job.Event
		for _, u := range st.activeMembers {
			if st.role(u) >= roleAdmin {
				events = append(events, job.Event{User: u, Body: message.AppendBody(nil, message.FieldJoinRequests, raw)})
			}
		}
		return s.deps.Outbox.Put(ctx, tx, events...)
	})
	if err == nil && s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
	return err
}

// ListJoinRequests returns the pending requests, the oldest first, at most 200.
func (s *Service) ListJoinRequests(ctx context.Context, c id.Conversation, by id.User) (*chatv1.ListJoinRequestsResponse, error) {
	if _, err := s.requireAdmin(ctx, c, by); err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT member, message, time_ms FROM join_requests WHERE conversation = $1 AND inviter = 0 ORDER BY time_ms, member LIMIT 200`, int64(c))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &chatv1.ListJoinRequestsResponse{}
	for rows.Next() {
		q := &chatv1.ListJoinRequestsResponse_Request{}
		if err := rows.Scan(&q.User, &q.Message, &q.TimeMs); err != nil {
			return nil, err
		}
		out.Requests = append(out.Requests, q)
	}
	return out, rows.Err()
}

// AnswerJoinRequest accepts or rejects a request.
func (s *Service) AnswerJoinRequest(ctx context.Context, c id.Conversation, by, u id.User, accept bool) (seq uint64, err error) {
	if _, err := s.requireAdmin(ctx, c, by); err != nil {
		return 0, err
	}
	var one int
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM join_requests WHERE conversation = $1 AND member = $2 AND inviter = 0`, int64(c), int64(u)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errs.New(errs.NotFound, "no_request", "this user has no pending request")
	}
	if err != nil {
		return 0, err
	}
	if accept {
		users, err := s.checkInvitees(ctx, by, []uint64{uint64(u)})
		if err != nil {
			return 0, err
		}
		if seq, err = s.addMembers(ctx, c, by, users); err != nil { // a user who requested to join has agreed
			return 0, err
		}
	}
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, err
	}
	return seq, s.changeJoinRequests(ctx, st, 0, func(tx *sql.Tx) (sql.Result, error) {
		return tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member = $2`, int64(c), int64(u))
	})
}
