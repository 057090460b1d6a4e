package helpdesk_test

import (
	"context"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/helpdesk"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// An agent who is a customer of the own desk does not serve the own ticket, and it keeps no others waiting.
func TestAnAgentsOwnTicketHoldsUpNobody(t *testing.T) {
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.AutoAssign, d.Capacity = true, 2 })
	own, second := h.opens(ann, d), h.opens(carla, d)
	h.online[1] = true
	h.round(0)
	h.check(own, "waiting 0 #1")
	h.check(second, "active 1 #0")
	third := h.opens(daniel, d)
	taken, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Desk: d.Id})
	if h.must(err); taken.Id != third.Id {
		t.Errorf("the first ticket of the queue that is not ann's is %v", taken)
	}
	_, err = h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Desk: d.Id})
	h.refused("the own one", err, "queue_empty")
	h.online[2] = true
	h.round(0)
	h.check(own, "active 2 #0")
}

func TestCustomersDoNotOvertakeByReopening(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	first := h.opens(carla, d)
	h.now = h.now.Add(time.Second)
	last := h.opens(daniel, d)
	h.now = h.now.Add(time.Second)
	again := func(by id.Caller) {
		t.Helper()
		_, err := h.ResolveTicket(t.Context(), by, last.Id)
		h.must(err)
		_, err = h.ReopenTicket(t.Context(), daniel, last.Id)
		h.must(err)
	}
	again(daniel)
	h.check(first, "waiting 0 #1")
	h.check(last, "waiting 0 #2")
	again(ann) // an agent's mistake
	h.check(last, "waiting 0 #1")
}

// If an agent takes a ticket while the desk's agents are replaced, or the server dies after that, the ticket does not remain with the former agent.
func TestTicketsDoNotRemainWithFormerAgents(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	var list []*chatv1.Ticket
	for n := range 45 {
		h.now = h.now.Add(time.Second)
		list = append(list, h.opens(id.Caller{User: id.User(100 + n)}, d))
		_, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Ticket: list[n].Id})
		h.must(err)
	}
	h.failChat = context.DeadlineExceeded
	if _, err := h.PutHelpDesk(t.Context(), &chatv1.HelpDesk{Key: "support", Name: "Support", Agents: []uint64{2}}); err == nil {
		t.Error("agents are replaced although the conversations did not follow")
	}
	h.failChat = nil
	h.check(list[0], "active 1 #0") // 20 were released in a first step
	h.round(2 * time.Minute)
	for n, ticket := range list { // in their order
		now, err := h.GetTicket(t.Context(), id.Caller{User: id.User(ticket.Customer)}, ticket.Id)
		if h.must(err); now.Status != waiting || now.Position != uint32(n+1) || h.chats[id.Conversation(ticket.Id)].Agent != 0 {
			t.Fatalf("ticket %d of a former agent is %v", n, now)
		}
	}
}

// Tickets whose conversations fail again and again hold up no others.
func TestFailingConversationsHoldUpNoOthers(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	h.failChat = context.DeadlineExceeded
	for n := range 120 {
		if _, err := h.OpenTicket(t.Context(), id.Caller{User: id.User(100 + n)}, &chatv1.OpenTicketRequest{Desk: d.Id}); err == nil {
			t.Fatal("a ticket is opened without a conversation")
		}
	}
	list, err := h.ListTickets(t.Context(), id.Caller{User: 219}, &chatv1.ListTicketsRequest{})
	h.must(err)
	last := id.Conversation(list.Tickets[0].Id)
	h.failChat = nil
	h.failFirst = last
	for range 2 {
		if h.Round(t.Context()) == nil {
			t.Error("a round succeeds")
		}
		h.now = h.now.Add(time.Second)
	}
	if h.chats[last] == (helpdesk.Conversation{}) {
		t.Error("a conversation behind 100 that fail was not made in two rounds")
	}
}

// A page of the queue has the positions that its tickets have alone.
func TestPositionsInPagesOfTheQueue(t *testing.T) {
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.Holidays = []string{h.now.Format(time.DateOnly)} })
	for n := range 7 {
		h.opens(id.Caller{User: id.User(100 + n)}, d)
	}
	q := &chatv1.ListTicketsRequest{Desk: d.Id, Status: waiting, Limit: 3}
	for seen := 0; seen < 7; {
		page, err := h.ListTickets(t.Context(), ann, q)
		h.must(err)
		for _, v := range page.Tickets {
			seen++
			alone, err := h.GetTicket(t.Context(), ann, v.Id)
			if h.must(err); v.Position != uint32(seen) || !proto.Equal(alone, v) {
				t.Errorf("ticket %d of the queue is %v in a page, alone %v", seen, v, alone)
			}
		}
		q.Page = page.Next
	}
}

// What agents and customers see beside other texts changes none of these.
func TestTextsOfHelpDesks(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	ticket := h.opens(carla, d)
	for _, text := range []string{"\u202eabc", "a\x00", "a\x1b[2J", "\xff"} {
		_, err := h.OpenTicket(t.Context(), daniel, &chatv1.OpenTicketRequest{Desk: d.Id, Subject: text})
		h.refused("a subject", err, "bad_subject")
		_, err = h.RateTicket(t.Context(), carla, &chatv1.RateTicketRequest{Ticket: ticket.Id, Rating: 5, Comment: text})
		h.refused("a comment", err, "bad_rating")
		_, err = h.PutHelpDesk(t.Context(), &chatv1.HelpDesk{Key: "k", Name: "n", Greeting: text})
		h.refused("a greeting", err, "bad_help_desk")
		_, err = h.PutHelpDesk(t.Context(), &chatv1.HelpDesk{Key: "k", Name: "n", AwayMessage: text})
		h.refused("an away message", err, "bad_help_desk")
	}
	_, err := h.OpenTicket(t.Context(), daniel, &chatv1.OpenTicketRequest{Desk: d.Id, Subject: "two\nlines"})
	h.refused("two lines", err, "bad_subject")
}
