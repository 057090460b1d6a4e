package helpdesk

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errTaken      = errs.New(errs.Conflict, "ticket_taken", "another agent has this ticket, or it is resolved: read it again")
	errEmptyQueue = errs.New(errs.NotFound, "queue_empty", "no ticket waits")
	errTransfer   = errs.New(errs.Invalid, "bad_transfer", "transfer a ticket to another agent of its desk, or to another desk that is not closed and with which its customer has no open ticket")
	errTake       = errs.New(errs.Invalid, "bad_take", "name a ticket, or a desk for the first of its queue")
)

// TakeTicket assigns a waiting ticket to the caller.
func (s *Service) TakeTicket(ctx context.Context, c id.Caller, q *chatv1.TakeTicketRequest) (*chatv1.Ticket, error) {
	if (q.Ticket == 0) == (q.Desk == 0) {
		return nil, errTake
	}
	find := func(tx *sql.Tx) (uint64, error) {
		if q.Ticket != 0 {
			return q.Ticket, nil
		}
		is, err := s.isAgent(ctx, tx, q.Desk, c.User)
		if err != nil || !is {
			return 0, errors.Join(err, errNoDesk)
		}
		n, err := s.firstWaiting(ctx, tx, q.Desk, c.User)
		if err == nil && n == 0 {
			err = errEmptyQueue
		}
		return n, err
	}
	return s.changeOne(ctx, c.User, find, func(tx *sql.Tx, t *ticket) error {
		is, err := s.isAgent(ctx, tx, t.desk, c.User)
		switch {
		case err != nil:
			return err
		case !is || t.customer == c.User:
			return errNoTicket
		case t.status == active && t.agent == c.User:
			return errUnchanged // a retry
		case t.status != waiting:
			return errTaken
		}
		return s.assign(ctx, tx, t, c.User)
	})
}

// firstWaiting returns the first ticket of a queue that is not an agent's own, 0 if there is none. A customer has one ticket in a queue.
func (s *Service) firstWaiting(ctx context.Context, from sqldb.Querier, desk uint64, agent id.User) (n uint64, err error) {
	err = from.QueryRowContext(ctx, `SELECT id FROM tickets WHERE desk = $1 AND status = 1 AND customer <> $2 ORDER BY place, id LIMIT 1`, int64(desk), int64(agent)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// assign gives a ticket to an agent, whose turn among equals comes last then. The caller stores the ticket.
func (s *Service) assign(ctx context.Context, tx *sql.Tx, t *ticket, agent id.User) error {
	t.agent, t.status = agent, active
	_, err := tx.ExecContext(ctx, `UPDATE help_desk_agents SET assigned_ms = (SELECT max(assigned_ms) + 1 FROM help_desk_agents WHERE desk = $1) WHERE desk = $1 AND agent = $2`, int64(t.desk), int64(agent))
	return err
}

// toHead gives a ticket the first place in the queue of its desk.
func (s *Service) toHead(ctx context.Context, tx *sql.Tx, t *ticket) error {
	var first int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(min(place), $2) FROM tickets WHERE desk = $1 AND status = 1`, int64(t.desk), t.place+1).Scan(&first); err != nil {
		return err
	}
	t.place, t.status, t.agent = min(t.place, first-1), waiting, 0
	return nil
}

// requeue puts an active ticket back to the head of the queue, and stores it.
func (s *Service) requeue(ctx context.Context, tx *sql.Tx, t *ticket) error {
	if err := s.toHead(ctx, tx, t); err != nil {
		return err
	}
	t.actor = 0
	return s.store(ctx, tx, t, t.desk)
}

// TransferTicket gives a ticket to another agent, or puts it at the end of another desk's queue.
func (s *Service) TransferTicket(ctx context.Context, c id.Caller, q *chatv1.TransferTicketRequest) (*chatv1.Ticket, error) {
	if (q.Agent == 0) == (q.Desk == 0) {
		return nil, errTransfer
	}
	return s.change(ctx, q.Ticket, c.User, s.transferTo(ctx, c, q))
}

// transferTo returns the decision of a transfer.
func (s *Service) transferTo(ctx context.Context, c id.Caller, q *chatv1.TransferTicketRequest) func(tx *sql.Tx, t *ticket) error {
	return func(tx *sql.Tx, t *ticket) error {
		_, asAgent, err := s.visible(ctx, tx, t.id, c)
		switch {
		case err != nil:
			return err
		case !asAgent:
			return errNoTicket
		case t.status == resolved:
			return errTaken
		case q.Desk != 0:
			return s.moveTo(ctx, tx, t, q.Desk)
		case t.status == active && t.agent == id.User(q.Agent):
			return errUnchanged
		}
		is, err := s.isAgent(ctx, tx, t.desk, id.User(q.Agent))
		if err != nil {
			return err
		}
		if !is || t.customer == id.User(q.Agent) {
			return errTransfer
		}
		return s.assign(ctx, tx, t, id.User(q.Agent))
	}
}

// moveTo puts a ticket at the end of another desk's queue.
func (s *Service) moveTo(ctx context.Context, tx *sql.Tx, t *ticket, desk uint64) error {
	if desk == t.desk {
		return errTransfer
	}
	d, err := s.desk(ctx, tx, desk)
	if err != nil {
		return err
	}
	if _, err := s.openTicket(ctx, tx, t.customer, desk); !errors.Is(err, errNoTicket) || d.Closed {
		if err == nil || d.Closed {
			err = errTransfer
		}
		return err
	}
	t.desk, t.place, t.status, t.agent, t.notice = desk, s.nowMs(), waiting, 0, s.noticeOf(d)
	return nil
}
