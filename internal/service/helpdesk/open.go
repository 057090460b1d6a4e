package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxPerDay bounds the tickets that a customer opens, with all desks, in 24 hours.
const maxPerDay = 20

var (
	errSubject = errs.New(errs.Invalid, "bad_subject", "a subject has at most 200 characters in one line, none of them a control or text-direction character")
	errClosed  = errs.New(errs.Denied, "help_desk_closed", "this help desk takes no new tickets")
	errPerDay  = errs.New(errs.Exhausted, "too_many_tickets", "you opened 20 tickets in 24 hours, which is the most: write in one that is open, or reopen one")
)

// OpenTicket opens a ticket, or returns the open one that the customer has with the desk.
func (s *Service) OpenTicket(ctx context.Context, c id.Caller, q *chatv1.OpenTicketRequest) (*chatv1.Ticket, error) {
	if utf8.RuneCountInString(q.Subject) > 200 || !message.IsLine(q.Subject) {
		return nil, errSubject
	}
	next, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	return s.commit(ctx, func(tx *sql.Tx) (*ticket, error) {
		t, err := s.openTicket(ctx, tx, c.User, q.Desk)
		if errors.Is(err, errNoTicket) {
			t, err = s.insertTicket(ctx, tx, &ticket{id: next, desk: q.Desk, customer: c.User, subject: q.Subject})
		}
		return t, err
	})
}

// openTicket returns the ticket of a customer with a desk that is not resolved.
func (s *Service) openTicket(ctx context.Context, tx *sql.Tx, customer id.User, desk uint64) (*ticket, error) {
	return scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM tickets WHERE customer = $1 AND desk = $2 AND status <> 3`, int64(customer), int64(desk)).Scan)
}

func (s *Service) insertTicket(ctx context.Context, tx *sql.Tx, t *ticket) (*ticket, error) {
	d, err := s.desk(ctx, tx, t.desk)
	if err != nil {
		return nil, err
	}
	if d.Closed {
		return nil, errClosed
	}
	now, n := s.nowMs(), 0
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM tickets WHERE customer = $1 AND opened_ms > $2`, int64(t.customer), now-(24*time.Hour).Milliseconds()).Scan(&n); err != nil {
		return nil, err
	}
	if n >= maxPerDay {
		return nil, errPerDay
	}
	t.status, t.place, t.openedMs, t.changedMs, t.fromCustomer, t.version = waiting, now, now, now, true, 1
	t.notice = s.noticeOf(d)
	_, err = tx.ExecContext(ctx, `INSERT INTO tickets (id, desk, customer, status, subject, notice, place, opened_ms, changed_ms, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7, 1)`,
		int64(t.id), int64(t.desk), int64(t.customer), t.status, t.subject, t.notice, now)
	if err != nil {
		return nil, err
	}
	return t, s.putEvents(ctx, tx, t, t.desk)
}

// noticeOf returns what a customer sees who comes to a desk now.
func (s *Service) noticeOf(d *chatv1.HelpDesk) string {
	if open, _ := opening(d, s.deps.Clock.Now()); !open && d.AwayMessage != "" {
		return d.AwayMessage
	}
	return d.Greeting
}

// visible returns a ticket to its customer, to agents of its desk, and to API keys.
func (s *Service) visible(ctx context.Context, from sqldb.Querier, n uint64, c id.Caller) (t *ticket, asAgent bool, err error) {
	if t, err = s.ticket(ctx, from, n); err != nil {
		return nil, false, err
	}
	if asAgent, err = s.isAgent(ctx, from, t.desk, c.User); err != nil {
		return nil, false, err
	}
	asAgent = asAgent || c.Server && c.User != t.customer
	if !asAgent && t.customer != c.User {
		return nil, false, errNoTicket
	}
	return t, asAgent, nil
}

// GetTicket returns a ticket.
func (s *Service) GetTicket(ctx context.Context, c id.Caller, n uint64) (*chatv1.Ticket, error) {
	t, _, err := s.visible(ctx, s.deps.DB.Read(), n, c)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, s.deps.DB.Read(), t)
}
