package account

import (
	"context"
	"sync"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const (
	ticketLife  = time.Minute
	ticketsMost = 50_000 // that are made in the life of one
)

// tickets of a process that has the records for itself (see slip.go) are good for one life, and kept for at most two: those of this one and of the one before. None is looked for to be
// dropped.
type tickets struct {
	mu          sync.Mutex // guards all below
	since       time.Time
	now, before map[string]ticket
}

type ticket struct {
	caller id.Caller
	ends   time.Time
}

// turn drops those of earlier lives. The caller holds mu.
func (t *tickets) turn(now time.Time) {
	switch age := now.Sub(t.since); {
	case t.now == nil || age >= 2*ticketLife:
		t.since, t.now, t.before = now, map[string]ticket{}, nil
	case age >= ticketLife:
		t.since, t.now, t.before = now, map[string]ticket{}, t.now
	}
}

func (t *tickets) put(name string, of ticket, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	if len(t.now) >= ticketsMost {
		return false
	}
	t.now[name] = of
	return true
}

// take gives a ticket, once.
func (t *tickets) take(name string, now time.Time) (ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	for _, some := range []map[string]ticket{t.now, t.before} {
		if of, ok := some[name]; ok {
			delete(some, name)
			return of, !now.After(of.ends)
		}
	}
	return ticket{}, false
}

// CreateTicket gives a single-use ticket for the caller, who has a session: a socket is one's.
func (s *Service) CreateTicket(_ context.Context, c id.Caller) (*accountv1.CreateTicketResponse, error) {
	if c.Session == 0 {
		return nil, errs.New(errs.Invalid, "no_session", "an API key opens no socket; make a session with AdminService/CreateSession")
	}
	name, now := auth.NewSecret("rt_"), s.deps.Clock.Now()
	ends := now.Add(ticketLife)
	if !s.deps.Alone {
		name = s.makeSlip(ticket{c, ends})
	} else if !s.tickets.put(name, ticket{c, ends}, now) {
		return nil, &errs.Error{Kind: errs.Exhausted, Reason: "busy", Message: "too many tickets are open; try again", Retry: time.Second}
	}
	return &accountv1.CreateTicketResponse{Ticket: name, ExpiresMs: ends.UnixMilli()}, nil
}

// VerifyTicket gives the caller of a ticket, once.
func (s *Service) VerifyTicket(ctx context.Context, name string) (id.Caller, error) {
	if !s.deps.Alone {
		return s.takeSlip(ctx, name)
	}
	of, ok := s.tickets.take(name, s.deps.Clock.Now())
	if !ok {
		return id.Caller{}, auth.ErrToken
	}
	if err := s.Live(ctx, of.caller); err != nil {
		return id.Caller{}, err
	}
	return of.caller, nil
}
