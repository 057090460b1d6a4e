package rialto

import (
	"context"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// HelpDesks returns the help desks, at most 100: whether they are open, and to agents who the agents are.
func (c *Client) HelpDesks(ctx context.Context) ([]*chatv1.HelpDesk, error) {
	r, err := unary(ctx, c.helpDesk.ListHelpDesks, &chatv1.ListHelpDesksRequest{})
	return r.GetDesks(), err
}

// OpenTicket opens a ticket with a help desk, with a subject of at most 200 characters. If this user has one there that is not resolved, it returns that one,
// so the call is repeated while its answer is lost. The ticket's id is that of its conversation: to write in it is to Send.
func (c *Client) OpenTicket(ctx context.Context, desk uint64, subject string) (*chatv1.Ticket, error) {
	r := &chatv1.OpenTicketRequest{Desk: desk, Subject: subject}
	return resend(ctx, c, func() (*chatv1.Ticket, error) { return unary(ctx, c.helpDesk.OpenTicket, r) })
}

// Ticket reads a ticket of this user's own, or of a desk whose agent this user is. Of two states of a ticket, the one with the higher Version is newer.
func (c *Client) Ticket(ctx context.Context, ticket uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.GetTicket, &chatv1.GetTicketRequest{Ticket: ticket})
}

// TicketFilter says which tickets Tickets lists.
type TicketFilter struct {
	// Desk whose agent this user is; 0: this user's own tickets, and the other fields have no effect.
	Desk uint64
	// Status: waiting tickets come in the order of the queue, active and resolved ones with the last changed first.
	Status chatv1.TicketStatus
	// Mine: only those that this user serves or served.
	Mine bool
}

// Tickets calls f with each ticket that a filter matches until it returns false. This user's own come with the newest first.
func (c *Client) Tickets(ctx context.Context, filter TicketFilter, f func(*chatv1.Ticket) bool) error {
	r := &chatv1.ListTicketsRequest{Desk: filter.Desk, Status: filter.Status, Mine: filter.Mine, Limit: 100}
	for {
		page, err := unary(ctx, c.helpDesk.ListTickets, r)
		if err != nil {
			return err
		}
		for _, t := range page.Tickets {
			if !f(t) {
				return nil
			}
		}
		if r.Page = page.Next; r.Page == "" {
			return nil
		}
	}
}

// TakeTicket takes a waiting ticket, as an agent of its desk.
func (c *Client) TakeTicket(ctx context.Context, ticket uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.TakeTicket, &chatv1.TakeTicketRequest{Ticket: ticket})
}

// TakeNextTicket takes the first ticket of a desk's queue, as one of its agents. If its answer is lost, read Tickets with Mine before another call, which
// would take a second ticket.
func (c *Client) TakeNextTicket(ctx context.Context, desk uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.TakeTicket, &chatv1.TakeTicketRequest{Desk: desk})
}

// TransferTicket gives a ticket that is not resolved to another agent of its desk.
func (c *Client) TransferTicket(ctx context.Context, ticket, agent uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.TransferTicket, &chatv1.TransferTicketRequest{Ticket: ticket, Agent: agent})
}

// TransferTicketToDesk puts a ticket that is not resolved into the queue of another desk.
func (c *Client) TransferTicketToDesk(ctx context.Context, ticket, desk uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.TransferTicket, &chatv1.TransferTicketRequest{Ticket: ticket, Desk: desk})
}

// ResolveTicket ends a ticket: nobody can write in it then.
func (c *Client) ResolveTicket(ctx context.Context, ticket uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.ResolveTicket, &chatv1.ResolveTicketRequest{Ticket: ticket})
}

// ReopenTicket puts a resolved ticket back into the queue, within seven days.
func (c *Client) ReopenTicket(ctx context.Context, ticket uint64) (*chatv1.Ticket, error) {
	return unary(ctx, c.helpDesk.ReopenTicket, &chatv1.ReopenTicketRequest{Ticket: ticket})
}

// RateTicket rates a resolved ticket of this user's own: 1 is the worst, 5 the best. The comment has at most 1,000 characters. A repetition changes nothing, so
// the call is repeated while its answer is lost.
func (c *Client) RateTicket(ctx context.Context, ticket uint64, rating uint32, comment string) (*chatv1.Ticket, error) {
	r := &chatv1.RateTicketRequest{Ticket: ticket, Rating: rating, Comment: comment}
	return resend(ctx, c, func() (*chatv1.Ticket, error) { return unary(ctx, c.helpDesk.RateTicket, r) })
}

// HelpDeskStats returns the figures of a desk whose agent this user is: of tickets resolved from one time, until before another, at most 92 days later.
func (c *Client) HelpDeskStats(ctx context.Context, desk uint64, from, to time.Time) (*chatv1.GetHelpDeskStatsResponse, error) {
	return unary(ctx, c.helpDesk.GetHelpDeskStats, &chatv1.GetHelpDeskStatsRequest{Desk: desk, FromMs: from.UnixMilli(), ToMs: to.UnixMilli()})
}
