package terminal

import (
	"context"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// ticketLabel distinguishes the tickets of one desk, whose conversations all have its name. It never changes.
type ticketLabel struct {
	customer uint64 // 0: the user
	subject  string
}

func (s *screen) ticketTitle(ctx context.Context, c *chatv1.Conversation) string {
	l := s.readTicketLabel(ctx, c.Id)
	customer := ""
	if l.customer != 0 {
		customer = s.name(ctx, l.customer)
	}
	return titleOfTicket(c, customer, l.subject)
}

func titleOfTicket(c *chatv1.Conversation, customer, subject string) string {
	title := oneLine(plain(c.Title))
	if customer != "" {
		title = customer + " · " + title
	}
	if subject != "" {
		title += ": " + oneLine(plain(subject))
	}
	return title
}

// readTicketLabel returns the label of a ticket, which is read once. It is empty where the ticket cannot be read.
func (s *screen) readTicketLabel(ctx context.Context, id uint64) ticketLabel {
	s.mu.Lock()
	l, known := s.tickets[id]
	s.mu.Unlock()
	if known {
		return l
	}
	t, err := s.client.Ticket(ctx, id)
	if err != nil && rialto.Reason(err) != "no_ticket" { // after that one it is not read again: an agent has left the desk
		return l
	}
	l = ticketLabel{t.GetCustomer(), t.GetSubject()}
	if l.customer == s.client.User() {
		l.customer = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets[id] = l
	return l
}
