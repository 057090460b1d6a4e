package helpdesk_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/helpdesk"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	waiting  = chatv1.TicketStatus_TICKET_STATUS_WAITING
	active   = chatv1.TicketStatus_TICKET_STATUS_ACTIVE
	resolved = chatv1.TicketStatus_TICKET_STATUS_RESOLVED
)

// Users of the tests: agents have 1 to 9, customers more.
var (
	ann, ben      = id.Caller{User: 1}, id.Caller{User: 2}
	carla, daniel = id.Caller{User: 11}, id.Caller{User: 12}
	emma, key     = id.Caller{User: 13}, id.Caller{User: 19, Server: true}
)

// harness is a service above a chat and a presence that the test sets. The tests call Round instead of Run.
type harness struct {
	t *testing.T
	*helpdesk.Service
	db     *sqldb.DB
	now    time.Time
	nextID uint64

	online   map[id.User]bool
	failChat error
	failRead error
	// failFirst: conversations of tickets before this one fail.
	failFirst id.Conversation
	// beforeMuted is called before the conversation of a resolved ticket follows: the last messages are written then.
	beforeMuted func()
	chats       map[id.Conversation]helpdesk.Conversation
	messages    map[id.Conversation][]said
}

// said is a message.
type said struct {
	by id.User
	at time.Time
}

func (h *harness) Now() time.Time                             { return h.now }
func (h *harness) Next(context.Context) (uint64, error)       { h.nextID++; return h.nextID, nil }
func (h *harness) Exist(_ context.Context, u []id.User) error { return existing(u) }

func existing(users []id.User) error {
	for _, u := range users {
		if u == 0 || u > 20 {
			return errs.New(errs.NotFound, "no_user", "")
		}
	}
	return nil
}

func (h *harness) PutTicket(_ context.Context, c helpdesk.Conversation) error {
	if c.ID < h.failFirst {
		return context.DeadlineExceeded
	}
	if h.failChat == nil && c.Status == resolved && h.beforeMuted != nil {
		h.beforeMuted()
	}
	if h.failChat == nil && c.Version > h.chats[c.ID].Version {
		h.chats[c.ID] = c
	}
	return h.failChat
}

func (h *harness) ReadTicketMessages(_ context.Context, c id.Conversation, customer id.User, after uint64) (m helpdesk.Messages, err error) {
	if m.Through = after; h.failRead != nil {
		return m, h.failRead
	}
	for _, s := range h.messages[c][after:] {
		m.Through++
		if m.LastMs, m.FromCustomer = s.at.UnixMilli(), s.by == customer; !m.FromCustomer && m.FirstMs == 0 {
			m.FirstMs = m.LastMs
		}
	}
	return m, nil
}

func (h *harness) says(t *chatv1.Ticket, by id.Caller) {
	c := id.Conversation(t.Id)
	h.messages[c] = append(h.messages[c], said{by.User, h.now})
}

func open(t *testing.T) *harness {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, db: db, now: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC), online: map[id.User]bool{}, chats: map[id.Conversation]helpdesk.Conversation{}, messages: map[id.Conversation][]said{}}
	online := func(_ context.Context, users []id.User) ([]bool, error) {
		list := make([]bool, len(users))
		for i, u := range users {
			list[i] = h.online[u]
		}
		return list, nil
	}
	h.Service, err = helpdesk.New(t.Context(), helpdesk.Deps{DB: db, Outbox: outbox, Chat: h, Accounts: h, IDs: h, Online: online, Clock: h, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// desk puts the desk with the key support, whose agents are ann and ben, with other settings than usual.
func (h *harness) desk(change func(*chatv1.HelpDesk)) *chatv1.HelpDesk {
	h.t.Helper()
	d := &chatv1.HelpDesk{Key: "support", Name: "Support", Greeting: "hello", AwayMessage: "closed", Agents: []uint64{2, 1}}
	if change != nil {
		change(d)
	}
	d, err := h.PutHelpDesk(h.t.Context(), d)
	h.must(err)
	return d
}

func (h *harness) opens(c id.Caller, d *chatv1.HelpDesk) *chatv1.Ticket {
	h.t.Helper()
	t, err := h.OpenTicket(h.t.Context(), c, &chatv1.OpenTicketRequest{Desk: d.Id, Subject: "help"})
	h.must(err)
	return t
}

// round lets time pass, and does what it brings.
func (h *harness) round(after time.Duration) {
	h.t.Helper()
	h.now = h.now.Add(after)
	h.must(h.Round(h.t.Context()))
}

// check compares the state of a ticket and of its conversation.
func (h *harness) check(t *chatv1.Ticket, want string) {
	h.t.Helper()
	now, err := h.GetTicket(h.t.Context(), id.Caller{User: id.User(t.Customer)}, t.Id)
	h.must(err)
	got := fmt.Sprintf("%s %d #%d", map[chatv1.TicketStatus]string{waiting: "waiting", active: "active", resolved: "resolved"}[now.Status], now.Agent, now.Position)
	if got != want {
		h.t.Errorf("ticket %d is %s, want %s", t.Id, got, want)
	}
	c := h.chats[id.Conversation(t.Id)]
	if c.Version != now.Version || c.Status != now.Status || now.Status != waiting && c.Agent != id.User(now.Agent) || now.Status == waiting && c.Agent != 0 {
		h.t.Errorf("the conversation of ticket %d has %+v, the ticket %v", t.Id, c, now)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

func (h *harness) refused(what string, err error, want string) {
	h.t.Helper()
	if reason(err) != want {
		h.t.Errorf("%s: %v, want %s", what, err, want)
	}
}
