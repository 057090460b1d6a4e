package account

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	ticketLifetime    = time.Minute
	maxTickets        = 50_000 // created within the lifetime of one
	maxTicketsPerUser = 200    // likewise of one user, without used ones
)

// tickets of a single node, in memory; several nodes use signed tickets (signed_ticket.go). There are two generations, of one lifetime each.
// When one expires, the other replaces it, so that no ticket must be searched.
type tickets struct {
	mu                sync.Mutex // guards the fields below
	since             time.Time
	current, previous map[string]ticket
	countByUser       map[id.User]int // tickets of the current generation
}

type ticket struct {
	caller  id.Caller
	expires time.Time
}

// rotate drops generations that have expired. The caller holds mu.
func (t *tickets) rotate(now time.Time) {
	switch age := now.Sub(t.since); {
	case t.current == nil || age >= 2*ticketLifetime:
		t.since, t.current, t.previous, t.countByUser = now, map[string]ticket{}, nil, map[id.User]int{}
	case age >= ticketLifetime:
		t.since, t.current, t.previous, t.countByUser = now, map[string]ticket{}, t.current, map[id.User]int{}
	}
}

func (t *tickets) put(name string, of ticket, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotate(now)
	if len(t.current) >= maxTickets || t.countByUser[of.caller.User] >= maxTicketsPerUser {
		return false
	}
	t.countByUser[of.caller.User]++
	t.current[name] = of
	return true
}

// redeem returns a ticket, once.
func (t *tickets) redeem(name string, now time.Time) (ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotate(now)
	of, ok := t.current[name]
	if ok {
		t.countByUser[of.caller.User]--
		delete(t.current, name)
	} else if of, ok = t.previous[name]; ok {
		delete(t.previous, name)
	}
	return of, ok && !now.After(of.expires)
}

// CreateTicket returns a single-use ticket for a caller with a session.
func (s *Service) CreateTicket(_ context.Context, c id.Caller) (*accountv1.CreateTicketResponse, error) {
	if c.Session == 0 {
		return nil, errs.New(errs.Invalid, "no_session", "an API key cannot open a socket; create a session with AdminService/CreateSession")
	}
	name, now := auth.NewSecret("rt_"), s.deps.Clock.Now()
	ends := now.Add(ticketLifetime)
	if !s.deps.SingleNode {
		name = s.signTicket(ticket{c, ends})
	} else if !s.tickets.put(name, ticket{c, ends}, now) {
		return nil, &errs.Error{Kind: errs.Exhausted, Reason: "busy", Message: "too many tickets are open; try again", Retry: time.Second}
	}
	return &accountv1.CreateTicketResponse{Ticket: name, ExpiresMs: ends.UnixMilli()}, nil
}

var errTicket = errs.New(errs.Unauthenticated, auth.ErrToken.Reason, "the ticket is not valid: it was used, or is older than a minute; create another with CreateTicket")

// VerifyTicket returns the caller of a ticket, once.
func (s *Service) VerifyTicket(ctx context.Context, name string) (id.Caller, error) {
	return s.active(s.redeemTicket(ctx, name))
}

func (s *Service) redeemTicket(ctx context.Context, name string) (id.Caller, error) {
	if !s.deps.SingleNode {
		return s.redeemSignedTicket(ctx, name)
	}
	of, ok := s.tickets.redeem(name, s.deps.Clock.Now())
	if !ok {
		return id.Caller{}, errTicket
	}
	if err := s.Live(ctx, of.caller); err != nil {
		return id.Caller{}, err
	}
	return of.caller, nil
}
