package helpdesk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// silent returns a harness with an active ticket of carla, whom ann answered. Its customer has an hour.
func silent(t *testing.T) (*harness, *chatv1.HelpDesk, *chatv1.Ticket) {
	t.Helper()
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.SilenceSeconds = 3600 })
	h.online[1] = true
	ticket := h.opens(carla, d)
	_, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
	h.must(err)
	h.says(ticket, ann)
	return h, d, ticket
}

func (h *harness) unconfirmed() (n int) {
	h.t.Helper()
	h.must(h.db.Read().QueryRowContext(h.t.Context(), `SELECT COUNT(*) FROM tickets WHERE unconfirmed`).Scan(&n))
	return n
}

// A message that comes after the look at the messages, and before the conversation is muted, keeps the ticket open.
func TestMessagesWhileASilentTicketIsResolvedKeepItOpen(t *testing.T) {
	for name, by := range map[string]id.Caller{"the customer": carla, "the agent": ann} {
		h, _, ticket := silent(t)
		h.beforeMuted = func() { h.says(ticket, by); h.beforeMuted = nil }
		h.round(time.Hour)
		if h.check(ticket, "active 1 #0"); h.unconfirmed() != 0 {
			t.Errorf("%s wrote: the ticket is not confirmed", name)
		}
		if now, err := h.GetTicket(t.Context(), carla, ticket.Id); err != nil || now.ResolvedMs != 0 {
			t.Errorf("%s wrote: %v %v, want no time of an end", name, now, err)
		}
		h.round(30 * time.Minute)
		h.check(ticket, "active 1 #0")
	}
}

// The message also counts if the node dies, or fails, at any step after the row says that the ticket is resolved.
func TestInterruptedEndsOfSilentTickets(t *testing.T) {
	for _, writes := range []bool{true, false} {
		h, _, ticket := silent(t)
		h.failChat = errors.New("no log")
		h.now = h.now.Add(time.Hour)
		if err := h.Round(t.Context()); !errors.Is(err, h.failChat) {
			t.Fatalf("a round without a log: %v", err)
		}
		if h.unconfirmed() != 1 {
			t.Fatal("nothing says that the end is not confirmed")
		}
		h.failChat, h.failRead = nil, errors.New("no log")
		if writes {
			h.says(ticket, carla)
		}
		if err := h.Round(t.Context()); !errors.Is(err, h.failRead) {
			t.Fatalf("a round without reads: %v", err)
		}
		h.failRead = nil
		h.round(0)
		want := "resolved 1 #0"
		if writes {
			want = "active 1 #0"
		}
		if h.check(ticket, want); h.unconfirmed() != 0 {
			t.Error("the end is still not confirmed")
		}
	}
}

// A customer has at most one open ticket with a desk. So a ticket stays resolved if its customer has opened another one meanwhile.
func TestSilentTicketsOfCustomersWithAnotherStayResolved(t *testing.T) {
	h, d, ticket := silent(t)
	var other *chatv1.Ticket
	h.beforeMuted = func() {
		h.beforeMuted = nil
		h.says(ticket, carla)
		other = h.opens(carla, d)
	}
	h.round(time.Hour)
	h.check(ticket, "resolved 1 #0")
	if h.check(other, "waiting 0 #1"); h.unconfirmed() != 0 {
		t.Error("the end is not confirmed")
	}
}

// Whoever reopens the ticket before its end is confirmed has decided.
func TestReopeningAnUnconfirmedTicket(t *testing.T) {
	h, _, ticket := silent(t)
	h.beforeMuted = func() {
		h.beforeMuted = nil
		_, err := h.ReopenTicket(t.Context(), carla, ticket.Id)
		h.must(err)
	}
	h.round(time.Hour)
	if h.check(ticket, "waiting 0 #1"); h.unconfirmed() != 0 {
		t.Error("a reopened ticket has an end to be confirmed")
	}
}
