package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	ticketWaiting  = chatv1.TicketStatus_TICKET_STATUS_WAITING
	ticketActive   = chatv1.TicketStatus_TICKET_STATUS_ACTIVE
	ticketResolved = chatv1.TicketStatus_TICKET_STATUS_RESOLVED
)

var (
	errNotTicket = errorf("the open chat is not a ticket; /tickets lists yours")
	errTicketUse = errorf("use /ticket DESK SUBJECT; /desks lists the help desks")
	errTakeUse   = errorf("use /take DESK for the first ticket of its queue, or /take N for one that /tickets DESK listed")
	errRateUse   = errorf("use /rate N [COMMENT]: 1 is the worst, 5 the best")
)

// ticketStatuses are the words for the tickets of a desk.
var ticketStatuses = map[string]chatv1.TicketStatus{"": ticketWaiting, "waiting": ticketWaiting, "active": ticketActive, "resolved": ticketResolved}

// readDesks reads the help desks.
func (s *screen) readDesks(ctx context.Context) ([]*chatv1.HelpDesk, error) {
	desks, err := s.client.HelpDesks(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.deskKeys = nil
	for _, d := range desks {
		s.deskKeys = append(s.deskKeys, d.Key)
	}
	s.mu.Unlock()
	return desks, nil
}

// listDesks lists the help desks.
func (s *screen) listDesks(ctx context.Context, _ string) error {
	desks, err := s.readDesks(ctx)
	if err != nil {
		return err
	}
	if len(desks) == 0 {
		s.say("There are no help desks.")
	}
	for _, d := range desks {
		s.say("%s", deskLine(d, time.Now()))
	}
	return nil
}

// deskLine describes a help desk: its key, its name, and when it is open.
func deskLine(d *chatv1.HelpDesk, now time.Time) string {
	state := phrase("open")
	switch opens := time.UnixMilli(d.OpensAtMs); {
	case d.Closed:
		state = phrase("takes no new tickets")
	case !d.IsOpen && d.OpensAtMs == 0:
		state = phrase("closed")
	case !d.IsOpen && opens.Sub(now) < 7*24*time.Hour:
		state = phrasef("opens %s", dated(opens, "Monday 15:04"))
	case !d.IsOpen:
		state = phrasef("opens %s", dated(opens, "2 January 2006, 15:04"))
	}
	if d.IsAgent {
		state += phrase("; you are an agent")
	}
	return fmt.Sprintf("  %-12s %s, %s", d.Key, oneLine(plain(d.Name)), state)
}

// deskOf finds a help desk by its key, or by its name.
func (s *screen) deskOf(ctx context.Context, which string) (*chatv1.HelpDesk, error) {
	desks, err := s.readDesks(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range desks {
		if which != "" && (strings.EqualFold(d.Key, which) || strings.EqualFold(d.Name, which)) {
			return d, nil
		}
	}
	return nil, errorf("there is no help desk %q; /desks lists them", plain(which))
}

// openTicket opens a ticket with a desk, and its chat.
func (s *screen) openTicket(ctx context.Context, rest string) error {
	which, subject, _ := strings.Cut(rest, " ")
	subject = strings.TrimSpace(subject)
	if which == "" || subject == "" {
		return errTicketUse
	}
	d, err := s.deskOf(ctx, which)
	if err != nil {
		return err
	}
	t, err := s.client.OpenTicket(ctx, d.Id, subject)
	if err != nil {
		return err
	}
	return s.enterTicket(ctx, t)
}

// enterTicket opens the chat of a ticket.
func (s *screen) enterTicket(ctx context.Context, t *chatv1.Ticket) error {
	c, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: t.Id})
	if err != nil {
		return err
	}
	s.refresh(ctx, c, false)
	s.say("* %s", s.ticketState(ctx, t))
	return s.enter(ctx, c)
}

// ticketState describes a ticket to its customer, or to an agent.
func (s *screen) ticketState(ctx context.Context, t *chatv1.Ticket) string {
	switch t.Status {
	case ticketActive:
		if t.Agent == s.client.User() {
			return phrase("you have this ticket")
		}
		return phrasef("%s has this ticket", s.name(ctx, t.Agent))
	case ticketResolved:
		text := phrase("this ticket is resolved; /reopen")
		if t.Rating > 0 {
			text += phrasef("; rated %d of 5 %s", t.Rating, oneLine(plain(t.Comment)))
		} else if t.Customer == s.client.User() {
			text += ", /rate"
		}
		return strings.TrimSpace(text)
	}
	text := phrasef("number %d in the queue", t.Position)
	if t.Position == 0 {
		text = phrase("waits for an agent")
	}
	if opens := time.UnixMilli(t.OpensAtMs); t.OpensAtMs > 0 {
		text += phrasef("; the help desk opens %s", dated(opens, "Monday, 2 January, 15:04"))
	}
	return text
}

// listTickets lists the user's own tickets; or, for its agents, those of a desk. The numbers are for /take, /resolve and /reopen.
func (s *screen) listTickets(ctx context.Context, rest string) error {
	which, word, _ := strings.Cut(rest, " ")
	r := &chatv1.ListTicketsRequest{Limit: 50}
	if which != "" {
		d, err := s.deskOf(ctx, which)
		if err != nil {
			return err
		}
		status, ok := ticketStatuses[strings.TrimSpace(word)]
		if !ok {
			return errorf("use /tickets DESK waiting, active or resolved")
		}
		r.Desk, r.Status = d.Id, status
	}
	page, err := call(ctx, s.client.HelpDesk().ListTickets, r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.ticketIDs = nil
	for _, t := range page.Tickets {
		s.ticketIDs = append(s.ticketIDs, t.Id)
	}
	s.mu.Unlock()
	if len(page.Tickets) == 0 {
		s.say("No tickets.")
	}
	for i, t := range page.Tickets {
		who := ""
		if t.Customer != s.client.User() {
			who = s.name(ctx, t.Customer) + ": "
		}
		s.say("  %d  %s%s  (%s)", i+1, who, oneLine(plain(t.Subject)), s.ticketState(ctx, t))
	}
	if page.Next != "" {
		s.say("  …")
	}
	return nil
}

// ticketOf returns the ticket with a number of the last list, or without one that of the open chat.
func (s *screen) ticketOf(which string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if which == "" {
		if s.open == nil || !s.open.Ticket {
			return 0, errNotTicket
		}
		return s.open.Id, nil
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(s.ticketIDs) {
		return 0, errorf("no ticket has this number; /tickets lists them")
	}
	return s.ticketIDs[n-1], nil
}

// takeTicket takes the first ticket of a desk's queue, or one that was listed, and opens its chat.
func (s *screen) takeTicket(ctx context.Context, rest string) error {
	if rest == "" {
		return errTakeUse
	}
	take := s.client.TakeTicket
	id, err := s.ticketOf(rest)
	if err != nil {
		d, err := s.deskOf(ctx, rest)
		if err != nil {
			return err
		}
		take, id = s.client.TakeNextTicket, d.Id
	}
	t, err := take(ctx, id)
	if err != nil {
		return err
	}
	return s.enterTicket(ctx, t)
}

// transferTicket gives the ticket of the open chat to an agent, or to another desk.
func (s *screen) transferTicket(ctx context.Context, c *chatv1.Conversation, rest string) error {
	if strings.HasPrefix(rest, "@") {
		user, _, err := s.userOf(ctx, rest)
		if err == nil {
			_, err = s.client.TransferTicket(ctx, c.Id, user)
		}
		return s.done(err)
	}
	d, err := s.deskOf(ctx, rest)
	if err == nil {
		_, err = s.client.TransferTicketToDesk(ctx, c.Id, d.Id)
	}
	return s.done(err)
}

// resolveTicket ends a ticket.
func (s *screen) resolveTicket(ctx context.Context, rest string) error {
	ticket, err := s.ticketOf(rest)
	if err != nil {
		return err
	}
	_, err = s.client.ResolveTicket(ctx, ticket)
	return s.done(err)
}

// reopenTicket puts a resolved ticket back into the queue.
func (s *screen) reopenTicket(ctx context.Context, rest string) error {
	ticket, err := s.ticketOf(rest)
	if err != nil {
		return err
	}
	_, err = s.client.ReopenTicket(ctx, ticket)
	return s.done(err)
}

// rateTicket rates the resolved ticket of the open chat.
func (s *screen) rateTicket(ctx context.Context, rest string) error {
	word, comment, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(word, 10, 8)
	if err != nil || n < 1 || n > 5 {
		return errRateUse
	}
	ticket, err := s.ticketOf("")
	if err != nil {
		return err
	}
	_, err = s.client.RateTicket(ctx, ticket, uint32(n), strings.TrimSpace(comment))
	return s.done(err)
}

// showTicket announces a ticket that waits: to its customer the place in the queue, to agents that there is one. The entries of its
// conversation say the rest.
func (s *screen) showTicket(ctx context.Context, t *chatv1.Ticket, live bool) {
	switch {
	case !live || t.Status != ticketWaiting:
	case t.Customer == s.client.User():
		s.say("* your ticket %q: %s", oneLine(plain(t.Subject)), s.ticketState(ctx, t))
	default:
		s.say("* %s waits with the ticket %q; /take", s.name(ctx, t.Customer), oneLine(plain(t.Subject)))
	}
}

// ticketEntry describes a control entry that gives a ticket a status.
func (s *screen) ticketEntry(ctx context.Context, c *chatv1.Control) string {
	actor := s.name(ctx, c.Actor)
	switch {
	case c.TicketStatus == ticketResolved:
		return phrase("the ticket is resolved") // the entry of a rating is the same
	case c.TicketStatus != ticketActive && c.Actor == 0:
		return phrase("the ticket waits for an agent")
	case c.TicketStatus != ticketActive:
		return phrasef("%s put the ticket into the queue", actor)
	case len(c.Users) == 1 && c.Users[0] == c.Actor:
		return phrasef("%s took the ticket", actor)
	case c.Actor == 0 && len(c.Users) == 1:
		return phrasef("the ticket was assigned to %s", s.name(ctx, c.Users[0]))
	case len(c.Users) == 1:
		return phrasef("%s transferred the ticket to %s", actor, s.name(ctx, c.Users[0]))
	}
	return ""
}
