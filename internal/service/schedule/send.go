package schedule

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"golang.org/x/sync/errgroup"
)

const (
	// sendInterval is the time between two rounds in which what is due is sent.
	sendInterval = time.Second
	// perRound bounds the rows that are read at once.
	perRound = 100
	// retryDelay is how long a message waits that could not be stored for now, so that it does not hold up others.
	retryDelay = 10 * time.Second
	// atOnce bounds the conversations that messages are sent to at the same time.
	atOnce = 16
)

// Run sends what is due, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: sendInterval, Round: s.SendDue, Failed: "scheduled messages are sent later", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// SendDue sends what is due, in each conversation the earliest first. A message that cannot be stored for now is tried again after
// retryDelay; one that is refused for good stays, with the reason. Neither holds up others.
func (s *Service) SendDue(ctx context.Context) error {
	for {
		due, err := s.due(ctx)
		if err != nil {
			return err
		}
		byConversation := map[id.Conversation][]*scheduled{}
		for _, r := range due {
			byConversation[r.conversation] = append(byConversation[r.conversation], r)
		}
		sends, ctx := errgroup.WithContext(ctx)
		sends.SetLimit(atOnce)
		for _, rows := range byConversation {
			sends.Go(func() error { return s.sendInOrder(ctx, rows) })
		}
		if err := sends.Wait(); err != nil {
			return err
		}
		if len(due) < perRound {
			return nil
		}
	}
}

func (s *Service) sendInOrder(ctx context.Context, rows []*scheduled) error {
	for _, r := range rows {
		if err := s.send(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// due returns rows whose time has come, also those that a node has claimed and not deleted.
func (s *Service) due(ctx context.Context) ([]*scheduled, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM scheduled WHERE due_ms <= $1 AND failed = '' ORDER BY due_ms, id LIMIT $2`, s.nowMs(), perRound)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var due []*scheduled
	for rows.Next() {
		r, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		due = append(due, r)
	}
	return due, rows.Err()
}

// send claims a row, sends its message, and deletes the row. It fails if the database does, or ctx ends.
func (s *Service) send(ctx context.Context, r *scheduled) error {
	claimed := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// The row may have been changed or cancelled since it was read: then the next round sees it.
		done, err := tx.ExecContext(ctx, `UPDATE scheduled SET claimed = TRUE WHERE id = $1 AND content = $2 AND send_ms = $3`, int64(r.id), r.content, r.sendMs)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	if err != nil || !claimed {
		return err
	}
	err = s.deps.Chat.Send(ctx, r.draft())
	if ctx.Err() != nil { // the outcome is unknown
		return ctx.Err()
	}
	refused := errs.Of(err)
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		switch {
		case refused == nil:
			_, err = tx.ExecContext(ctx, `DELETE FROM scheduled WHERE id = $1`, int64(r.id))
		case refused.Retry > 0 || refused.Kind == errs.Unavailable || refused.Kind == errs.Internal: // it may have been stored, so it stays claimed
			s.deps.Logger.Warn("a scheduled message is sent later", "conversation", r.conversation, "error", refused)
			_, err = tx.ExecContext(ctx, `UPDATE scheduled SET due_ms = $2 WHERE id = $1`, int64(r.id), s.nowMs()+retryDelay.Milliseconds())
		default:
			_, err = tx.ExecContext(ctx, `UPDATE scheduled SET claimed = FALSE, failed = $2 WHERE id = $1`, int64(r.id), refused.Reason)
		}
		return err
	})
}
