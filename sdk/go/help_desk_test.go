package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// counter is a server with help desks. Nothing calls it from two goroutines.
type counter struct {
	chatv1connect.UnimplementedHelpDeskServiceHandler
	lost  int      // answers, the next ones, that do not arrive
	calls []string // as the messages that they are
}

func (c *counter) answer(what string, r any) (*connect.Response[chatv1.Ticket], error) {
	c.calls = append(c.calls, what+" "+fmt.Sprint(r))
	if c.lost > 0 {
		c.lost--
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("lost"))
	}
	return connect.NewResponse(&chatv1.Ticket{Id: 7}), nil
}

func (c *counter) ListHelpDesks(context.Context, *connect.Request[chatv1.ListHelpDesksRequest]) (*connect.Response[chatv1.ListHelpDesksResponse], error) {
	return connect.NewResponse(&chatv1.ListHelpDesksResponse{Desks: []*chatv1.HelpDesk{{Id: 70}}}), nil
}

func (c *counter) OpenTicket(_ context.Context, r *connect.Request[chatv1.OpenTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("open", []any{r.Msg.Desk, r.Msg.Subject})
}

func (c *counter) GetTicket(_ context.Context, r *connect.Request[chatv1.GetTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("get", r.Msg.Ticket)
}

func (c *counter) TakeTicket(_ context.Context, r *connect.Request[chatv1.TakeTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("take", []any{r.Msg.Ticket, r.Msg.Desk})
}

func (c *counter) TransferTicket(_ context.Context, r *connect.Request[chatv1.TransferTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("transfer", []any{r.Msg.Ticket, r.Msg.Agent, r.Msg.Desk})
}

func (c *counter) ResolveTicket(_ context.Context, r *connect.Request[chatv1.ResolveTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("resolve", r.Msg.Ticket)
}

func (c *counter) ReopenTicket(_ context.Context, r *connect.Request[chatv1.ReopenTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("reopen", r.Msg.Ticket)
}

func (c *counter) RateTicket(_ context.Context, r *connect.Request[chatv1.RateTicketRequest]) (*connect.Response[chatv1.Ticket], error) {
	return c.answer("rate", []any{r.Msg.Ticket, r.Msg.Rating, r.Msg.Comment})
}

func (c *counter) ListTickets(_ context.Context, r *connect.Request[chatv1.ListTicketsRequest]) (*connect.Response[chatv1.ListTicketsResponse], error) {
	c.calls = append(c.calls, fmt.Sprint("list ", r.Msg.Desk, r.Msg.Status, r.Msg.Mine, r.Msg.Page))
	if r.Msg.Page == "" {
		return connect.NewResponse(&chatv1.ListTicketsResponse{Tickets: []*chatv1.Ticket{{Id: 1}, {Id: 2}}, Next: "more"}), nil
	}
	return connect.NewResponse(&chatv1.ListTicketsResponse{Tickets: []*chatv1.Ticket{{Id: 3}}}), nil
}

func (c *counter) GetHelpDeskStats(_ context.Context, r *connect.Request[chatv1.GetHelpDeskStatsRequest]) (*connect.Response[chatv1.GetHelpDeskStatsResponse], error) {
	c.calls = append(c.calls, fmt.Sprint("stats ", r.Msg.Desk, " ", r.Msg.FromMs, " ", r.Msg.ToMs))
	return connect.NewResponse(&chatv1.GetHelpDeskStatsResponse{Waiting: 4}), nil
}

// TestTickets: each helper makes its call; those whose repetition has no second effect are repeated while the answer is lost, others are not.
func TestTickets(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	desks, err := c.HelpDesks(t.Context())
	if err != nil || len(desks) != 1 || desks[0].Id != 70 {
		t.Fatalf("the desks are %v, %v", desks, err)
	}
	for _, step := range []struct {
		call func(context.Context) (*chatv1.Ticket, error)
		want string
		once bool // it is not repeated
	}{
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.OpenTicket(ctx, 70, "broken") }, "open [70 broken]", false},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.RateTicket(ctx, 7, 5, "thanks") }, "rate [7 5 thanks]", false},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.Ticket(ctx, 7) }, "get 7", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.TakeTicket(ctx, 7) }, "take [7 0]", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.TakeNextTicket(ctx, 70) }, "take [0 70]", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.TransferTicket(ctx, 7, 2) }, "transfer [7 2 0]", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.TransferTicketToDesk(ctx, 7, 71) }, "transfer [7 0 71]", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.ResolveTicket(ctx, 7) }, "resolve 7", true},
		{func(ctx context.Context) (*chatv1.Ticket, error) { return c.ReopenTicket(ctx, 7) }, "reopen 7", true},
	} {
		s.counter.calls, s.counter.lost = nil, 1
		ticket, err := step.call(t.Context())
		want := []string{step.want, step.want}
		if step.once {
			want = want[:1]
		}
		if !slices.Equal(s.counter.calls, want) || step.once != (err != nil) || !step.once && ticket.Id != 7 {
			t.Errorf("after a lost answer: %v, %v, called %q, want %q", ticket, err, s.counter.calls, want)
		}
	}
	s.counter.calls = nil
	var ids []uint64
	err = c.Tickets(t.Context(), rialto.TicketFilter{Desk: 70, Status: chatv1.TicketStatus_TICKET_STATUS_ACTIVE, Mine: true}, func(t *chatv1.Ticket) bool { ids = append(ids, t.Id); return true })
	if err != nil || !slices.Equal(ids, []uint64{1, 2, 3}) {
		t.Errorf("listed %v, %v", ids, err)
	}
	stats, err := c.HelpDeskStats(t.Context(), 70, time.UnixMilli(1000), time.UnixMilli(2000))
	if err != nil || stats.Waiting != 4 {
		t.Errorf("stats %v, %v", stats, err)
	}
	if want := []string{"list 70 TICKET_STATUS_ACTIVE true", "list 70 TICKET_STATUS_ACTIVE truemore", "stats 70 1000 2000"}; !slices.Equal(s.counter.calls, want) {
		t.Errorf("called %q, want %q", s.counter.calls, want)
	}
}
