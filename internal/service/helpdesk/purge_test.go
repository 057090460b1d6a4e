package helpdesk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Tickets are deleted two years after their end, in several transactions; open ones, and those whose conversation has not followed, are not.
func TestOldTicketsArePurged(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	tickets := func() (n int) {
		h.must(h.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM tickets`).Scan(&n))
		return n
	}
	waits := h.opens(daniel, d)
	for range 11 {
		for range 20 { // as many as a customer opens in a day
			_, err := h.ResolveTicket(ctx, carla, h.opens(carla, d).Id)
			h.must(err)
		}
		h.now = h.now.Add(25 * time.Hour)
	}
	h.failChat = errors.New("no log")
	late := h.opensUnsynced(emma, d)
	h.failChat = nil
	kept := h.opens(carla, d)
	_, err := h.ResolveTicket(ctx, carla, kept.Id)
	h.must(err)
	h.now = h.now.Add(2*365*24*time.Hour - time.Hour)
	h.must(h.Purge(ctx))
	if got := tickets(); got != 3 {
		t.Errorf("%d tickets are left, want the waiting one, the one that has not followed, and the youngest", got)
	}
	h.now = h.now.Add(2 * time.Hour)
	h.must(h.Purge(ctx))
	if _, err := h.GetTicket(ctx, carla, kept.Id); reason(err) != "no_ticket" {
		t.Errorf("the youngest after two years: %v", err)
	}
	h.check(waits, "waiting 0 #1")
	h.round(0)
	h.must(h.Purge(ctx))
	if got := tickets(); got != 1 {
		t.Errorf("%d tickets are left after ticket %d has followed, want the waiting one", got, late)
	}
}

// opensUnsynced opens and resolves a ticket whose conversation does not follow, and returns its id.
func (h *harness) opensUnsynced(c id.Caller, d *chatv1.HelpDesk) uint64 {
	h.t.Helper()
	ticket, _ := h.OpenTicket(h.t.Context(), c, &chatv1.OpenTicketRequest{Desk: d.Id})
	if _, err := h.ResolveTicket(h.t.Context(), c, ticket.Id); err == nil {
		h.t.Fatal("the conversation followed")
	}
	return ticket.Id
}
