package terminal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// counter is a server with two help desks, and a queue of two tickets.
type counter struct {
	chatv1connect.UnimplementedHelpDeskServiceHandler
	took     []*chatv1.TakeTicketRequest
	opened   *chatv1.OpenTicketRequest
	moved    *chatv1.TransferTicketRequest
	resolved uint64
	rated    *chatv1.RateTicketRequest
	read     []uint64 // tickets, by GetTicket
}

func (c *counter) GetTicket(_ context.Context, r *connect.Request[chatv1.GetTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.read = append(c.read, r.Msg.Ticket)
	t := waitingTicket(r.Msg.Ticket, 1)
	switch r.Msg.Ticket {
	case 21:
		t.Customer, t.Subject = 1, "an invoice\x1b[2J"
	case 22: // this node cannot answer
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	return connect.NewResponse(t), nil
}

func (c *counter) ListHelpDesks(context.Context, *connect.Request[chatv1.ListHelpDesksRequest]) (*connect.Response[chatv1.ListHelpDesksResponse], error) {
	return connect.NewResponse(&chatv1.ListHelpDesksResponse{Desks: []*chatv1.HelpDesk{{Id: 70, Key: "support", Name: "Support\x1b[2J", IsOpen: true, IsAgent: true}, {Id: 71, Key: "billing", Name: "Billing", Closed: true}}}), nil
}

func (c *counter) ListTickets(_ context.Context, r *connect.Request[chatv1.ListTicketsRequest]) (*connect.Response[chatv1.ListTicketsResponse], error) {
	if r.Msg.Desk == 0 {
		return connect.NewResponse(&chatv1.ListTicketsResponse{}), nil
	}
	return connect.NewResponse(&chatv1.ListTicketsResponse{Tickets: []*chatv1.Ticket{waitingTicket(8, 1), waitingTicket(9, 2)}, Next: "more"}), nil
}

func waitingTicket(id uint64, position uint32) *chatv1.Ticket {
	return &chatv1.Ticket{Id: id, Desk: 70, Customer: 2, Status: ticketWaiting, Subject: "broken", Position: position}
}

func (c *counter) OpenTicket(_ context.Context, r *connect.Request[chatv1.OpenTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.opened = r.Msg
	t := waitingTicket(7, 3)
	t.Customer = 1
	return connect.NewResponse(t), nil
}

func (c *counter) TakeTicket(_ context.Context, r *connect.Request[chatv1.TakeTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.took = append(c.took, r.Msg)
	return connect.NewResponse(&chatv1.Ticket{Id: 7, Customer: 2, Agent: 1, Status: ticketActive}), nil
}

func (c *counter) TransferTicket(_ context.Context, r *connect.Request[chatv1.TransferTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.moved = r.Msg
	return connect.NewResponse(&chatv1.Ticket{}), nil
}

func (c *counter) ResolveTicket(_ context.Context, r *connect.Request[chatv1.ResolveTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.resolved = r.Msg.Ticket
	return connect.NewResponse(&chatv1.Ticket{}), nil
}

func (c *counter) RateTicket(_ context.Context, r *connect.Request[chatv1.RateTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	c.rated = r.Msg
	return connect.NewResponse(&chatv1.Ticket{}), nil
}

// ticketChats is a server with the conversations of tickets, in which nobody has written.
type ticketChats struct{ shelf }

func (*ticketChats) GetConversation(_ context.Context, r *connect.Request[chatv1.GetConversationRequest]) (*connect.Response[chatv1.Conversation], error) {
	return connect.NewResponse(&chatv1.Conversation{Id: r.Msg.Conversation, Title: "Support", Ticket: true, State: &chatv1.ConversationState{}}), nil
}

// atCounter is a screen of user 1 at a server with help desks.
func atCounter(t *testing.T) (*screen, *counter, func() string) {
	t.Helper()
	s, said := seated(t)
	c, mux := &counter{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewHelpDeskServiceHandler(c))
	mux.Handle(chatv1connect.NewChatServiceHandler(&ticketChats{}))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	return s, c, said
}

// Agents list the queue of their desk, take a ticket by its number or the first one, and pass it on.
func TestAgentsServeTheQueue(t *testing.T) {
	s, c, said := atCounter(t)
	do := func(line, want string) {
		t.Helper()
		err := s.do(t.Context(), line)
		text := said()
		if err != nil {
			text += "! " + err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %q", line, text, want)
		}
	}
	do("/resolve", errNotTicket.Error())
	do("/desks", "support      Support[2J, open; you are an agent")
	do("/tickets nowhere", `there is no help desk "nowhere"`)
	do("/tickets support", "2  Bob: broken  (number 2 in the queue)\n  …")
	do("/take 2", "you have this ticket")
	do("/take support", "you have this ticket")
	if len(c.took) != 2 || c.took[0].Ticket != 9 || c.took[0].Desk != 0 || c.took[1].Desk != 70 || c.took[1].Ticket != 0 {
		t.Errorf("taken were %v", c.took)
	}
	do("/transfer Billing", "Done.")
	if c.moved.GetTicket() != 7 || c.moved.GetDesk() != 71 {
		t.Errorf("transferred was %v", c.moved)
	}
	do("/resolve 1", "Done.")
	if c.resolved != 8 {
		t.Errorf("resolved was %d", c.resolved)
	}
	do("/resolve", "Done.")
	if c.resolved != 7 {
		t.Errorf("resolved was %d", c.resolved)
	}
}

// A customer opens a ticket with a desk, named by its key, and rates it.
func TestCustomersOpenAndRateTickets(t *testing.T) {
	s, c, said := atCounter(t)
	for _, line := range []string{"/ticket support", "/rate 6", "/rate good", "/rate 5"} {
		if s.do(t.Context(), line) == nil {
			t.Errorf("%s is no error", line)
		}
	}
	if err := s.do(t.Context(), "/ticket support it does not start"); err != nil || !strings.Contains(said(), "* number 3 in the queue") {
		t.Fatalf("error %v, want number 3 in the queue", err)
	}
	if c.opened.GetDesk() != 70 || c.opened.GetSubject() != "it does not start" {
		t.Errorf("opened was %v", c.opened)
	}
	if err := s.do(t.Context(), "/rate 5 very good"); err != nil || c.rated.GetTicket() != 7 || c.rated.GetRating() != 5 || c.rated.GetComment() != "very good" {
		t.Errorf("rated was %v: %v", c.rated, err)
	}
	if got := s.complete("/tickets s").choices; !slices.Equal(got, []string{"support"}) {
		t.Errorf("completed to %v", got)
	}
	if got := s.complete("/tickets support re").choices; !slices.Equal(got, []string{"resolved"}) {
		t.Errorf("completed to %v", got)
	}
}

// A ticket that waits is announced while it is new: to its customer with the place, to agents with who waits.
func TestWaitingTicketsAreAnnounced(t *testing.T) {
	s, _, said := atCounter(t)
	own := waitingTicket(7, 2)
	own.Customer = 1
	for _, step := range []struct {
		event rialto.Event
		want  string
	}{
		{rialto.Event{Ticket: waitingTicket(8, 1), Live: true}, "* Bob waits with the ticket \"broken\"; /take\n"},
		{rialto.Event{Ticket: own, Live: true}, "* your ticket \"broken\": number 2 in the queue\n"},
		{rialto.Event{Ticket: waitingTicket(8, 1)}, ""},
		{rialto.Event{Ticket: &chatv1.Ticket{Id: 8, Status: ticketActive}, Live: true}, ""},
	} {
		s.show(t.Context(), step.event)
		if got := said(); got != step.want {
			t.Errorf("after %v: got %q, want %q", step.event.Ticket, got, step.want)
		}
	}
}

// The entries of a ticket are sentences.
func TestEntriesOfTickets(t *testing.T) {
	s, _, _ := atCounter(t)
	s.people[3] = person{"cem", "Cem"}
	entry := func(actor uint64, status chatv1.TicketStatus, users ...uint64) *chatv1.Control {
		return &chatv1.Control{Action: chatv1.Control_ACTION_TICKET, Actor: actor, TicketStatus: status, Users: users}
	}
	for want, c := range map[string]*chatv1.Control{
		"the ticket waits for an agent":     entry(0, ticketWaiting),
		"Bob put the ticket into the queue": entry(2, ticketWaiting),
		"Bob took the ticket":               entry(2, ticketActive, 2),
		"the ticket was assigned to Cem":    entry(0, ticketActive, 3),
		"Bob transferred the ticket to Cem": entry(2, ticketActive, 3),
		"the ticket is resolved":            entry(2, ticketResolved, 2),
		`"Support" was created with Bob`:    {Action: chatv1.Control_ACTION_CREATED, Users: []uint64{2}, Text: "Support"},
	} {
		if got := s.control(t.Context(), c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A desk that is closed says when it opens.
func TestDesksSayWhenTheyOpen(t *testing.T) {
	now := time.Date(2027, 1, 15, 12, 0, 0, 0, time.Local) // a Friday
	for want, d := range map[string]*chatv1.HelpDesk{
		"  a            A, open":                         {Key: "a", Name: "A", IsOpen: true},
		"  a            A, opens Monday 09:00":           {Key: "a", Name: "A", OpensAtMs: time.Date(2027, 1, 18, 9, 0, 0, 0, time.Local).UnixMilli()},
		"  a            A, opens 1 February 2027, 09:00": {Key: "a", Name: "A", OpensAtMs: time.Date(2027, 2, 1, 9, 0, 0, 0, time.Local).UnixMilli()},
		"  a            A, closed":                       {Key: "a", Name: "A"},
		"  a            A, takes no new tickets":         {Key: "a", Name: "A", Closed: true},
		"  support      Support, open; you are an agent": {Key: "support", Name: "Support", IsOpen: true, IsAgent: true},
	} {
		if got := deskLine(d, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The tickets of a desk, which share a title, are told apart in the list, at the prompt and by /open.
func TestTicketsOfADeskAreToldApart(t *testing.T) {
	s, c, _ := atCounter(t)
	s.list = []uint64{20, 21, 22}
	for _, id := range s.list {
		s.chats[id] = &chatv1.Conversation{Id: id, Title: "Support", Ticket: true, State: &chatv1.ConversationState{}}
	}
	want := []string{"Bob · Support: broken", "Support: an invoice[2J", "Support"} // the last one cannot be read now
	for i, id := range s.list {
		if got := s.title(t.Context(), s.chats[id]); got != want[i] {
			t.Errorf("ticket %d has the title %q, want %q", id, got, want[i])
		}
	}
	if got := s.titles(); !slices.Equal(got, want) {
		t.Errorf("titles to complete are %q, want %q", got, want)
	}
	if got, err := s.chatOf(t.Context(), "support: an"); err != nil || got.Id != 21 {
		t.Errorf("found %v, %v", got, err)
	}
	if !slices.Equal(c.read, []uint64{20, 21, 22, 22}) {
		t.Errorf("read the tickets %d, want each until it could be read", c.read)
	}
}
