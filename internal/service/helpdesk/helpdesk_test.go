package helpdesk_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestTicketsAreTakenInTheOrderOfTheQueue(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	first, second := h.opens(carla, d), h.opens(daniel, d)
	if again := h.opens(carla, d); again.Id != first.Id || again.Position != 1 {
		t.Errorf("opening twice gives %v after %v", again, first)
	}
	h.check(first, "waiting 0 #1")
	h.check(second, "waiting 0 #2")
	if c := h.chats[id.Conversation(first.Id)]; c.Announcement != "hello" || c.Title != "Support" {
		t.Errorf("the conversation is %+v", c)
	}
	taken, err := h.TakeTicket(ctx, ann, &chatv1.TakeTicketRequest{Desk: d.Id})
	h.must(err)
	if taken.Id != first.Id {
		t.Errorf("the first of the queue is %v", taken)
	}
	h.check(first, "active 1 #0")
	h.check(second, "waiting 0 #1")
	_, err = h.TakeTicket(ctx, ann, &chatv1.TakeTicketRequest{Ticket: first.Id}) // a retry
	h.must(err)
	_, err = h.TakeTicket(ctx, ben, &chatv1.TakeTicketRequest{Ticket: first.Id})
	h.refused("taking another's", err, "ticket_taken")
	_, err = h.TransferTicket(ctx, ann, &chatv1.TransferTicketRequest{Ticket: first.Id, Agent: 2})
	h.must(err)
	h.check(first, "active 2 #0")
	_, err = h.ResolveTicket(ctx, carla, first.Id)
	h.must(err)
	h.check(first, "resolved 2 #0")
	if next := h.opens(carla, d); next.Id == first.Id {
		t.Error("a resolved ticket was opened again")
	}
	_, err = h.ReopenTicket(ctx, carla, first.Id)
	h.refused("reopening beside an open one", err, "cannot_reopen")
	_, err = h.ResolveTicket(ctx, ann, second.Id)
	h.must(err)
	_, err = h.ReopenTicket(ctx, daniel, second.Id)
	h.must(err)
	h.check(second, "waiting 0 #1") // before carla's second one
}

func TestOfTwoAgentsOneGetsATicket(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	ticket := h.opens(carla, d)
	results := make([]error, 2)
	var both sync.WaitGroup
	for i, agent := range []id.Caller{ann, ben} {
		both.Go(func() {
			_, results[i] = h.TakeTicket(t.Context(), agent, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
		})
	}
	both.Wait()
	winner := 0
	if results[0] != nil {
		winner = 1
	}
	h.must(results[winner])
	h.refused("the other", results[1-winner], "ticket_taken")
	h.check(ticket, fmt.Sprintf("active %d #0", winner+1))
}

func TestTicketsMoveBetweenDesks(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	sales := h.desk(func(d *chatv1.HelpDesk) { d.Key, d.Name, d.Agents = "sales", "Sales", []uint64{3} })
	before, ticket := h.opens(daniel, sales), h.opens(carla, d)
	_, err := h.TransferTicket(ctx, ann, &chatv1.TransferTicketRequest{Ticket: ticket.Id, Desk: sales.Id})
	h.must(err)
	h.check(before, "waiting 0 #1")
	h.check(ticket, "waiting 0 #2")
	_, err = h.TakeTicket(ctx, ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
	h.refused("by an agent of the other desk", err, "no_ticket")
	if c := h.chats[id.Conversation(ticket.Id)]; c.Title != "Sales" {
		t.Errorf("its title is %s", c.Title)
	}
	other := h.opens(daniel, d)
	_, err = h.TransferTicket(ctx, ann, &chatv1.TransferTicketRequest{Ticket: other.Id, Desk: sales.Id})
	h.refused("to a desk with which the customer has an open one", err, "bad_transfer")
}

func TestAutomaticAssignment(t *testing.T) {
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.AutoAssign, d.Capacity = true, 2 })
	tickets := []*chatv1.Ticket{h.opens(carla, d)}
	h.round(0)
	h.check(tickets[0], "waiting 0 #1") // nobody is online
	h.online[1], h.online[2] = true, true
	for n := range 4 {
		tickets = append(tickets, h.opens(id.Caller{User: id.User(12 + n)}, d))
	}
	h.round(0)
	for i, want := range []string{"active 1 #0", "active 2 #0", "active 1 #0", "active 2 #0", "waiting 0 #1"} { // in turn, to their capacity
		h.check(tickets[i], want)
	}
	_, err := h.ResolveTicket(t.Context(), ben, tickets[1].Id)
	h.must(err)
	h.round(0)
	h.check(tickets[4], "active 2 #0")
}

// An agent who is offline for absent_seconds loses the tickets, in their order, to the head of the queue; a jump of the clock is no absence.
func TestTicketsOfAbsentAgentsReturnToTheQueue(t *testing.T) {
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.AbsentSeconds = 60 })
	h.online[1] = true
	list := []*chatv1.Ticket{h.opens(carla, d), h.opens(daniel, d), h.opens(emma, d)}
	for range 2 {
		_, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Desk: d.Id})
		h.must(err)
	}
	h.round(0)
	h.online[1] = false
	h.round(24 * time.Hour) // 30 seconds count
	h.check(list[0], "active 1 #0")
	h.round(15 * time.Second)
	h.check(list[0], "active 1 #0")
	h.round(15 * time.Second)
	for i, want := range []string{"waiting 0 #1", "waiting 0 #2", "waiting 0 #3"} {
		h.check(list[i], want)
	}
}

func TestTicketsOfRemovedAgentsReturnToTheQueue(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	ticket := h.opens(carla, d)
	_, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
	h.must(err)
	h.desk(func(d *chatv1.HelpDesk) { d.Agents = []uint64{2} })
	h.check(ticket, "waiting 0 #1")
	_, err = h.GetTicket(t.Context(), ann, ticket.Id)
	h.refused("by a former agent", err, "no_ticket")
}

func TestSilentCustomers(t *testing.T) {
	h := open(t)
	d := h.desk(func(d *chatv1.HelpDesk) { d.SilenceSeconds = 3600 })
	h.online[1] = true
	ticket := h.opens(carla, d)
	_, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
	h.must(err)
	h.now = h.now.Add(90 * time.Second)
	h.says(ticket, ann)
	h.says(ticket, carla)
	h.round(2 * time.Hour)
	h.check(ticket, "active 1 #0") // the agent has to answer
	h.says(ticket, ann)
	h.round(59 * time.Minute)
	h.check(ticket, "active 1 #0")
	h.round(time.Minute)
	h.check(ticket, "resolved 1 #0")
	now, err := h.GetTicket(t.Context(), carla, ticket.Id)
	if h.must(err); now.FirstResponseMs != 90_000 {
		t.Errorf("the first response came after %d ms, want 90,000", now.FirstResponseMs)
	}
}

// If the conversation cannot follow, the call fails, and the coordinator repeats it.
func TestConversationsFollowLater(t *testing.T) {
	h := open(t)
	d := h.desk(nil)
	ticket := h.opens(carla, d)
	h.failChat = errors.New("no log")
	if _, err := h.TakeTicket(t.Context(), ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id}); !errors.Is(err, h.failChat) {
		t.Errorf("taking without a log: %v", err)
	}
	h.failChat = nil
	h.round(0)
	h.check(ticket, "active 1 #0")
}

func TestRatingsAndStatistics(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	ticket := h.opens(carla, d)
	rate := func(by id.Caller, rating uint32) error {
		_, err := h.RateTicket(ctx, by, &chatv1.RateTicketRequest{Ticket: ticket.Id, Rating: rating, Comment: "well"})
		return err
	}
	h.refused("before the end", rate(carla, 5), "cannot_rate")
	_, err := h.TakeTicket(ctx, ann, &chatv1.TakeTicketRequest{Ticket: ticket.Id})
	h.must(err)
	h.now = h.now.Add(time.Minute)
	h.says(ticket, ann)
	_, err = h.ResolveTicket(ctx, ann, ticket.Id)
	h.must(err)
	h.refused("6", rate(carla, 6), "bad_rating")
	h.refused("by an agent", rate(ann, 5), "cannot_rate")
	h.refused("by another user", rate(daniel, 5), "no_ticket")
	h.must(rate(carla, 5))
	h.now = h.now.Add(24 * time.Hour)
	h.must(rate(carla, 3))
	h.now = h.now.Add(time.Millisecond)
	h.must(rate(carla, 3)) // a retry
	h.refused("a day later", rate(carla, 4), "cannot_rate")
	h.opens(daniel, d)
	period := &chatv1.GetHelpDeskStatsRequest{Desk: d.Id, FromMs: h.now.Add(-48 * time.Hour).UnixMilli(), ToMs: h.now.UnixMilli()}
	for _, by := range []id.Caller{ben, key} {
		stats, err := h.GetHelpDeskStats(ctx, by, period)
		h.must(err)
		if a := stats.Agents; stats.Waiting != 1 || stats.Active != 0 || len(a) != 1 || a[0].Agent != 1 || a[0].Resolved != 1 || a[0].FirstResponseMs != 60_000 || a[0].Rating != 3 || stats.Total.Rated != 1 {
			t.Errorf("the figures are %v", stats)
		}
	}
	_, err = h.GetHelpDeskStats(ctx, carla, period)
	h.refused("figures for a customer", err, "no_help_desk")
	period.FromMs -= 92 * 24 * 3_600_000
	_, err = h.GetHelpDeskStats(ctx, ann, period)
	h.refused("a long period", err, "bad_period")
}

func TestListsOfTickets(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	list := func(by id.Caller, q *chatv1.ListTicketsRequest) (customers string) {
		t.Helper()
		for q.Limit = 2; ; {
			page, err := h.ListTickets(ctx, by, q)
			h.must(err)
			for _, v := range page.Tickets {
				customers += fmt.Sprint(v.Customer, " ")
			}
			if q.Page = page.Next; q.Page == "" {
				return strings.TrimSpace(customers)
			}
		}
	}
	var all []*chatv1.Ticket
	for n := range 5 {
		h.now = h.now.Add(time.Second)
		all = append(all, h.opens(id.Caller{User: id.User(11 + n)}, d))
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("the queue", list(ann, &chatv1.ListTicketsRequest{Desk: d.Id, Status: waiting}), "11 12 13 14 15")
	for i, by := range []id.Caller{ann, ben, ann} {
		h.now = h.now.Add(time.Second)
		_, err := h.TakeTicket(ctx, by, &chatv1.TakeTicketRequest{Ticket: all[i].Id})
		h.must(err)
	}
	check("active", list(ben, &chatv1.ListTicketsRequest{Desk: d.Id, Status: active}), "13 12 11")
	check("ann's", list(ann, &chatv1.ListTicketsRequest{Desk: d.Id, Status: active, Mine: true}), "13 11")
	check("a customer's", list(carla, &chatv1.ListTicketsRequest{}), "11")
	_, err := h.ListTickets(ctx, carla, &chatv1.ListTicketsRequest{Desk: d.Id, Status: waiting})
	h.refused("the queue for a customer", err, "no_help_desk")
	for _, q := range []*chatv1.ListTicketsRequest{{Limit: 101}, {Page: "x"}} {
		_, err := h.ListTickets(ctx, carla, q)
		h.refused(q.String(), err, "bad_page")
	}
	for _, q := range []*chatv1.ListTicketsRequest{{Desk: d.Id}, {Desk: d.Id, Status: 4}, {Desk: d.Id, Status: waiting, Mine: true}} {
		_, err := h.ListTickets(ctx, ann, q)
		h.refused(q.String(), err, "bad_status")
	}
}

func TestLimits(t *testing.T) {
	h := open(t)
	ctx, d := t.Context(), h.desk(nil)
	for range 20 {
		_, err := h.ResolveTicket(ctx, carla, h.opens(carla, d).Id)
		h.must(err)
	}
	_, err := h.OpenTicket(ctx, carla, &chatv1.OpenTicketRequest{Desk: d.Id})
	h.refused("21 in a day", err, "too_many_tickets")
	_, err = h.OpenTicket(ctx, daniel, &chatv1.OpenTicketRequest{Desk: d.Id, Subject: strings.Repeat("x", 201)})
	h.refused("a long subject", err, "bad_subject")
	h.desk(func(d *chatv1.HelpDesk) { d.Closed = true })
	_, err = h.OpenTicket(ctx, daniel, &chatv1.OpenTicketRequest{Desk: d.Id})
	h.refused("a closed desk", err, "help_desk_closed")
	bad := func(want, says string, change func(*chatv1.HelpDesk)) {
		t.Helper()
		d := &chatv1.HelpDesk{Key: "k", Name: "n"}
		change(d)
		_, err := h.PutHelpDesk(ctx, d)
		if h.refused(d.String(), err, want); err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say which limit is broken: %q", err, says)
		}
	}
	bad("bad_help_desk", "the key", func(d *chatv1.HelpDesk) { d.Key = "K" })
	bad("bad_help_desk", "the name", func(d *chatv1.HelpDesk) { d.Name = "" })
	bad("bad_help_desk", "the greeting", func(d *chatv1.HelpDesk) { d.Greeting = "\xff" })
	bad("bad_help_desk", "the away message", func(d *chatv1.HelpDesk) { d.AwayMessage = strings.Repeat("x", 1001) })
	bad("bad_help_desk", "100 agents", func(d *chatv1.HelpDesk) {
		for u := range uint64(101) {
			d.Agents = append(d.Agents, u+1)
		}
	})
	bad("bad_help_desk", "the capacity", func(d *chatv1.HelpDesk) { d.Capacity = 101 })
	bad("bad_help_desk", "absentSeconds", func(d *chatv1.HelpDesk) { d.AbsentSeconds = 59 })
	bad("bad_help_desk", "silenceSeconds", func(d *chatv1.HelpDesk) { d.SilenceSeconds = 59 })
	bad("no_user", "", func(d *chatv1.HelpDesk) { d.Agents = []uint64{99} })
	bad("bad_hours", "time zone", func(d *chatv1.HelpDesk) { d.TimeZone = "Moon" })
	bad("bad_hours", "range 1 of the business hours has no weekday", func(d *chatv1.HelpDesk) { d.Hours = []*chatv1.BusinessHours{{Weekday: 8, ToMinute: 1}} })
	bad("bad_hours", "range 2 of the business hours has minutes", func(d *chatv1.HelpDesk) {
		d.Hours = []*chatv1.BusinessHours{{Weekday: 1, ToMinute: 1}, {Weekday: 1, FromMinute: 60, ToMinute: 60}}
	})
	bad("bad_hours", "50 ranges", func(d *chatv1.HelpDesk) { d.Hours = make([]*chatv1.BusinessHours, 51) })
	bad("bad_hours", "holiday 1", func(d *chatv1.HelpDesk) { d.Holidays = []string{"25.12."} })
	bad("bad_hours", "100 holidays", func(d *chatv1.HelpDesk) { d.Holidays = make([]string, 101) })
	if _, err := h.PutHelpDesk(ctx, nil); reason(err) != "bad_help_desk" {
		t.Errorf("no desk: %v", err)
	}
}

// Business hours go by the clock of the desk's zone, over changes of daylight saving time and holidays.
func TestBusinessHours(t *testing.T) {
	h := open(t)
	week := func(d *chatv1.HelpDesk) {
		d.TimeZone, d.Holidays = "Europe/Berlin", []string{"2026-12-25"}
		for day := uint32(1); day <= 5; day++ {
			d.Hours = append(d.Hours, &chatv1.BusinessHours{Weekday: day, FromMinute: 13 * 60, ToMinute: 17 * 60}, &chatv1.BusinessHours{Weekday: day, FromMinute: 9 * 60, ToMinute: 12 * 60})
		}
	}
	night := func(d *chatv1.HelpDesk) {
		d.TimeZone, d.Hours = "Europe/Berlin", []*chatv1.BusinessHours{{Weekday: 7, FromMinute: 150, ToMinute: 1440}}
	}
	for _, c := range []struct {
		hours     func(*chatv1.HelpDesk)
		now, want string // "": it is open
	}{
		{week, "2026-11-24T08:00:00Z", ""},
		{week, "2026-11-24T11:00:00Z", "2026-11-24T12:00:00Z"},
		{week, "2026-11-24T16:00:00Z", "2026-11-25T08:00:00Z"},
		{week, "2026-03-27T16:00:00Z", "2026-03-30T07:00:00Z"}, // an hour earlier, since summer time began
		{week, "2026-10-23T15:00:00Z", "2026-10-26T08:00:00Z"},
		{week, "2026-12-24T16:00:00Z", "2026-12-28T08:00:00Z"},
		{night, "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"}, // 2:30 does not exist
		{func(d *chatv1.HelpDesk) { d.Holidays = []string{"2026-11-24"} }, "2026-11-24T12:00:00Z", "2026-11-25T00:00:00Z"},
	} {
		d := h.desk(func(d *chatv1.HelpDesk) { c.hours(d) })
		var err error
		if h.now, err = time.Parse(time.RFC3339, c.now); err != nil {
			t.Fatal(err)
		}
		var want int64
		notice := "hello"
		if c.want != "" {
			at, err := time.Parse(time.RFC3339, c.want)
			h.must(err)
			want, notice = at.UnixMilli(), "closed"
		}
		ticket := h.opens(carla, d)
		if got := h.chats[id.Conversation(ticket.Id)].Announcement; ticket.OpensAtMs != want || got != notice {
			t.Errorf("%s: opens at %v and says %s, want %s", c.now, time.UnixMilli(ticket.OpensAtMs).UTC(), got, c.want)
		}
		_, err = h.ResolveTicket(t.Context(), carla, ticket.Id)
		h.must(err)
	}
}
