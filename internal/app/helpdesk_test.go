package app

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// A customer opens a ticket and writes; an agent learns of it, takes it, reads what was written before, and answers; the customer rates it.
func TestATicketFromItsOpeningToItsRating(t *testing.T) {
	h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data")), slog.New(slog.DiscardHandler))
	must(t, err)
	defer func() { must(t, h.Close()) }()
	ctx := t.Context()
	tickets := make(chan *chatv1.Ticket, 16) // more than the agent gets
	register := func(handle string, handler func(rialto.Event)) *rialto.Client {
		t.Helper()
		c, err := rialto.New(rialto.Config{URL: url(h), Handler: handler})
		must(t, err)
		must(t, c.Register(ctx, handle, "a good password", handle))
		return c
	}
	customer, agent := register("customer", nil), register("agent", func(e rialto.Event) {
		if e.Ticket != nil {
			tickets <- e.Ticket
		}
	})
	server := chatv1connect.NewHelpDeskServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	desk, err := server.PutHelpDesk(ctx, connect.NewRequest(&chatv1.PutHelpDeskRequest{Desk: &chatv1.HelpDesk{Key: "support", Name: "Support", Greeting: "hello", Agents: []uint64{agent.User()}}}))
	must(t, err)
	runs, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = agent.Run(runs) }()
	defer func() { stop(); <-stopped }()
	ticket, err := customer.HelpDesk().OpenTicket(ctx, connect.NewRequest(&chatv1.OpenTicketRequest{Desk: desk.Msg.Id, Subject: "broken"}))
	must(t, err)
	c := ticket.Msg.Id
	if seen := <-tickets; seen.Id != c || seen.Subject != "broken" || seen.Position != 1 {
		t.Errorf("the agent is told of %v, want the new ticket as the first of the queue", seen)
	}
	send := func(by *rialto.Client, text string) error {
		_, err := by.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: c, ClientMsgId: text, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		return err
	}
	must(t, send(customer, "it does not start"))
	_, err = agent.HelpDesk().TakeTicket(ctx, connect.NewRequest(&chatv1.TakeTicketRequest{Ticket: c}))
	must(t, err)
	if seen := <-tickets; seen.Status != chatv1.TicketStatus_TICKET_STATUS_ACTIVE || seen.Agent != agent.User() {
		t.Errorf("after the ticket was taken, the agent is told of %v, want an active ticket of the agent", seen)
	}
	list, err := agent.Chat().ListConversations(ctx, connect.NewRequest(&chatv1.ListConversationsRequest{}))
	must(t, err)
	if l := list.Msg.Conversations; len(l) != 1 || l[0].Id != c || !l[0].Ticket || l[0].JoinSeq != 1 || l[0].Unread != 1 {
		t.Errorf("the agent's conversations are %v, want the ticket with one unread message, readable from its first entry", l)
	}
	must(t, send(agent, "plug it in"))
	history, err := agent.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: c}))
	must(t, err)
	var texts []string
	for _, m := range history.Msg.Messages {
		if m.Content.GetControl() == nil {
			texts = append(texts, m.Content.GetText())
		}
	}
	if !slices.Equal(texts, []string{"it does not start", "plug it in"}) {
		t.Errorf("the agent reads %q, want the messages of both", texts)
	}
	_, err = agent.HelpDesk().ResolveTicket(ctx, connect.NewRequest(&chatv1.ResolveTicketRequest{Ticket: c}))
	must(t, err)
	if send(customer, "thanks") == nil {
		t.Error("a resolved ticket takes messages")
	}
	rated, err := customer.HelpDesk().RateTicket(ctx, connect.NewRequest(&chatv1.RateTicketRequest{Ticket: c, Rating: 5}))
	must(t, err)
	if r := rated.Msg; r.Rating != 5 || r.FirstResponseMs == 0 {
		t.Errorf("the rated ticket is %v, want a rating of 5 and the time of the first response", r)
	}
}
