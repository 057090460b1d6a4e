package chat_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A ticket's agent reads it from its first entry, a former agent up to the transfer; nobody else reads it, and nobody changes its members.
func TestTicketConversations(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, ctx := h.node(t), t.Context()
	const c, customer, ann, ben = id.Conversation(77), id.User(1), id.User(2), id.User(3)
	put := func(version uint64, agent id.User, status chatv1.TicketStatus) {
		t.Helper()
		must(t, s.PutTicket(ctx, chat.Ticket{Conversation: c, Version: version, Title: "Support", Announcement: "hello", Customer: customer, Agent: agent, Status: status}))
	}
	texts := func(u id.User) (list string) {
		t.Helper()
		r, err := s.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(c)})
		must(t, err)
		for _, m := range r.Messages {
			list += m.Content.GetText()
		}
		return list
	}
	n := uint64(0)
	send := func(u id.User, text string) error { n++; return s.Send(ctx, draftOf(c, u, n, text)) }
	put(1, 0, chatv1.TicketStatus_TICKET_STATUS_WAITING)
	must(t, send(customer, "a"))
	if err := send(ann, "x"); reasonOf(err) != "no_conversation" {
		t.Errorf("who is no agent of it yet: %v", err)
	}
	put(2, ann, chatv1.TicketStatus_TICKET_STATUS_ACTIVE)
	must(t, send(ann, "b"))
	put(3, ben, chatv1.TicketStatus_TICKET_STATUS_ACTIVE)
	entries := len(h.entries(t, c))
	put(2, ann, chatv1.TicketStatus_TICKET_STATUS_ACTIVE) // comes too late
	put(3, ben, chatv1.TicketStatus_TICKET_STATUS_ACTIVE) // again
	if got := len(h.entries(t, c)); got != entries {
		t.Errorf("old states added %d entries", got-entries)
	}
	must(t, send(ben, "c"))
	if a, b := texts(ann), texts(ben); a != "ab" || b != "abc" {
		t.Errorf("ann reads %q, ben %q", a, b)
	}
	_, err := s.Leave(ctx, c, customer)
	if reasonOf(err) != "ticket" {
		t.Errorf("leaving: %v", err)
	}
	if _, err := s.Invite(ctx, c, customer, []uint64{4}); reasonOf(err) != "not_allowed" {
		t.Errorf("inviting: %v", err)
	}
	put(4, ben, chatv1.TicketStatus_TICKET_STATUS_RESOLVED)
	s = h.node(t) // the state is that of the rows
	if err := send(customer, "x"); reasonOf(err) != "muted" || !strings.Contains(err.Error(), "resolved") {
		t.Errorf("writing in a resolved ticket: %v", err)
	}
	put(5, 0, chatv1.TicketStatus_TICKET_STATUS_WAITING)
	must(t, send(customer, "d"))
	if err := send(ben, "x"); reasonOf(err) != "no_conversation" {
		t.Errorf("the former agent: %v", err)
	}
	m, err := s.ReadTicketMessages(ctx, c, customer, 0)
	must(t, err)
	if m.More || m.FirstMs == 0 || !m.FromCustomer || m.Through != h.tail(t, c).Seq {
		t.Errorf("read %+v", m)
	}
	v, err := s.Describe(ctx, customer, c)
	must(t, err)
	if !v.Ticket || v.Title != "Support" || v.Announcement != "hello" || v.MemberCount != 1 {
		t.Errorf("the customer sees %v, want a ticket with title and announcement, and the customer as its only member", v)
	}
}

// A reaction, an edit and a recall are no answers, whoever makes them.
func TestUpdatesDoNotAnswerTickets(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, ctx := h.node(t), t.Context()
	const c, customer, ann = id.Conversation(77), id.User(1), id.User(2)
	must(t, s.PutTicket(ctx, chat.Ticket{Conversation: c, Version: 1, Title: "Support", Customer: customer, Status: chatv1.TicketStatus_TICKET_STATUS_WAITING}))
	must(t, s.PutTicket(ctx, chat.Ticket{Conversation: c, Version: 2, Title: "Support", Customer: customer, Agent: ann, Status: chatv1.TicketStatus_TICKET_STATUS_ACTIVE}))
	question := draftOf(c, customer, 1, "does it work?")
	must(t, s.Send(ctx, question))
	update := func(u id.User, n uint64, content *chatv1.Content) {
		t.Helper()
		d := draftOf(c, u, n, "")
		var err error
		if d.Content, err = proto.Marshal(content); err != nil {
			t.Fatal(err)
		}
		must(t, s.Send(ctx, d))
	}
	update(ann, 1, reactionOf(question.Seq, "👍", false))
	m, err := s.ReadTicketMessages(ctx, c, customer, 0)
	must(t, err)
	if m.FirstMs != 0 || !m.FromCustomer || m.Through != h.tail(t, c).Seq {
		t.Errorf("after a reaction of the agent: %+v, want no response yet", m)
	}
	answer := draftOf(c, ann, 2, "yes")
	must(t, s.Send(ctx, answer))
	update(customer, 2, reactionOf(answer.Seq, "👍", false))
	update(customer, 3, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: question.Seq}}}})
	m, err = s.ReadTicketMessages(ctx, c, customer, 0)
	must(t, err)
	if m.FirstMs == 0 || m.FromCustomer || m.Through != h.tail(t, c).Seq {
		t.Errorf("after updates of the customer: %+v, want the agent's message as the last one", m)
	}
}
