package chat

import (
	"context"
	"database/sql"
	"errors"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/proto"
)

// ask notes that a user wants to join. Only the first time is told: whoever asks again and again changes what the request says,
// and wakes nobody.
func (s *Service) ask(ctx context.Context, st *state, u id.User, message string) error {
	return s.tell(ctx, st, u, func(tx *sql.Tx) (sql.Result, error) {
		done, err := tx.ExecContext(ctx, `UPDATE join_requests SET message = $3 WHERE conversation = $1 AND member = $2`, int64(st.id), int64(u), message)
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

// tell changes the requests, and has the admins told in their streams where it changed one.
func (s *Service) tell(ctx context.Context, st *state, asked id.User, change func(*sql.Tx) (sql.Result, error)) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := change(tx)
		if err != nil || done == nil || s.deps.Outbox == nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		event := &chatv1.JoinRequests{Conversation: uint64(st.id), User: uint64(asked)}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM join_requests WHERE conversation = $1`, int64(st.id)).Scan(&event.Waiting); err != nil {
			return err
		}
		raw, err := proto.Marshal(event)
		if err != nil {
			return err
		}
		var events []job.Event
		for _, u := range st.current {
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

// ListJoinRequests that wait, the oldest first, at most 200.
func (s *Service) ListJoinRequests(ctx context.Context, c id.Conversation, by id.User) (*chatv1.ListJoinRequestsResponse, error) {
	if err := s.admin(ctx, c, by); err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, message, time_ms FROM join_requests WHERE conversation = $1 ORDER BY time_ms, member LIMIT 200`, int64(c))
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

// AnswerJoinRequest lets a user in, or not.
func (s *Service) AnswerJoinRequest(ctx context.Context, c id.Conversation, by, u id.User, accept bool) (seq uint64, err error) {
	if err := s.admin(ctx, c, by); err != nil {
		return 0, err
	}
	var one int
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM join_requests WHERE conversation = $1 AND member = $2`, int64(c), int64(u)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errs.New(errs.NotFound, "no_request", "there is no request of this user")
	}
	if err != nil {
		return 0, err
	}
	if accept {
		if seq, err = s.Invite(ctx, c, by, []uint64{uint64(u)}); err != nil {
			return 0, err
		}
	}
	st, err := s.current(ctx, c)
	if err != nil {
		return 0, err
	}
	return seq, s.tell(ctx, st, 0, func(tx *sql.Tx) (sql.Result, error) {
		return tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member = $2`, int64(c), int64(u))
	})
}
