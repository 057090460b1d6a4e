package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// reopenWithin is how long after its end a ticket may be reopened.
	reopenWithin = 7 * 24 * time.Hour
	// rateAgainWithin is how long after the first rating it may be changed.
	rateAgainWithin = 24 * time.Hour
)

var (
	errReopen = errs.New(errs.Denied, "cannot_reopen", "a ticket can be reopened within seven days after it was resolved, unless its customer has another open one with the desk or the desk is closed: open a new one")
	errRating = errs.New(errs.Invalid, "bad_rating", "a rating is 1 to 5, with a comment of at most 1,000 characters without control or text-direction characters")
	errRate   = errs.New(errs.Denied, "cannot_rate", "the customer of a resolved ticket rates it, and can change the rating for 24 hours")
)

// ResolveTicket ends a ticket. For one that is resolved it changes nothing.
func (s *Service) ResolveTicket(ctx context.Context, c id.Caller, n uint64) (*chatv1.Ticket, error) {
	t, _, err := s.visible(ctx, s.deps.DB.Read(), n, c)
	if err != nil {
		return nil, err
	}
	if t.status == active {
		if err := s.readMessages(ctx, t); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, n, c.User, func(tx *sql.Tx, t *ticket) error {
		if _, _, err := s.visible(ctx, tx, n, c); err != nil { // it may be with another desk now
			return err
		}
		if t.status == resolved {
			return errUnchanged
		}
		s.resolve(t)
		return nil
	})
}

func (s *Service) resolve(t *ticket) {
	t.status, t.resolvedMs = resolved, s.nowMs()
}

// ReopenTicket puts a resolved ticket at the head of the queue. The agent who resolved it is no longer its agent. One that its customer
// resolved before anybody served it comes to the end of the queue: otherwise customers would overtake others.
func (s *Service) ReopenTicket(ctx context.Context, c id.Caller, n uint64) (*chatv1.Ticket, error) {
	return s.change(ctx, n, c.User, func(tx *sql.Tx, t *ticket) error {
		if _, _, err := s.visible(ctx, tx, n, c); err != nil {
			return err
		}
		if t.status != resolved {
			return errUnchanged
		}
		d, err := s.desk(ctx, tx, t.desk)
		if err != nil {
			return err
		}
		if d.Closed || s.nowMs()-t.resolvedMs > reopenWithin.Milliseconds() {
			return errReopen
		}
		if _, err := s.openTicket(ctx, tx, t.customer, t.desk); !errors.Is(err, errNoTicket) {
			return errors.Join(err, errReopen)
		}
		t.resolvedMs, t.notice = 0, s.noticeOf(d)
		if t.agent == 0 && t.actor == t.customer {
			t.place, t.status = max(t.place, s.nowMs()), waiting
			return nil
		}
		return s.toHead(ctx, tx, t)
	})
}

// RateTicket stores the customer's rating.
func (s *Service) RateTicket(ctx context.Context, c id.Caller, q *chatv1.RateTicketRequest) (*chatv1.Ticket, error) {
	if q.Rating < 1 || q.Rating > 5 || !isParagraph(q.Comment, maxText) {
		return nil, errRating
	}
	return s.change(ctx, q.Ticket, c.User, func(tx *sql.Tx, t *ticket) error {
		if _, _, err := s.visible(ctx, tx, q.Ticket, c); err != nil {
			return err
		}
		now := s.nowMs()
		switch {
		case t.customer != c.User || t.status != resolved:
			return errRate
		case t.rating == q.Rating && t.comment == q.Comment:
			return errUnchanged // a retry
		case t.ratedMs != 0 && now-t.ratedMs > rateAgainWithin.Milliseconds():
			return errRate
		case t.ratedMs == 0:
			t.ratedMs = now
		}
		t.rating, t.comment = q.Rating, q.Comment
		return nil
	})
}

// readMessages stores who wrote in a ticket since it was last read. If it was read meanwhile, that holds.
func (s *Service) readMessages(ctx context.Context, t *ticket) error {
	for more := true; more; {
		m, err := s.deps.Chat.ReadTicketMessages(ctx, id.Conversation(t.id), t.customer, t.readSeq)
		if err != nil {
			return err
		}
		if more = m.More; m.Through == t.readSeq {
			return nil
		}
		before := t.readSeq
		t.readSeq = m.Through
		if m.FirstMs != 0 && t.firstResponseMs == 0 {
			t.firstResponseMs = max(1, m.FirstMs-t.openedMs)
		}
		if m.LastMs != 0 {
			t.lastMs, t.fromCustomer = m.LastMs, m.FromCustomer
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE tickets SET read_seq = $2, first_response_ms = $3, last_ms = $4, from_customer = $5 WHERE id = $1 AND read_seq = $6`,
				int64(t.id), int64(t.readSeq), t.firstResponseMs, t.lastMs, t.fromCustomer, int64(before))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
