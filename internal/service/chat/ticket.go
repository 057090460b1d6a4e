package chat

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A ticket of a help desk is a group without owner and admins (docs/decisions/0086-help-desks.md). Its members are the customer and the agent who
// serves it; package helpdesk decides who they are, and alone changes them. An agent reads the whole ticket, also what was said before.
//
// Each state of a ticket has a version. Its first entry says so, and the following ones change the members as long as no later version has come
// in between. So of two nodes that write different states, the one with the older state changes nothing.

var errTicket = errs.New(errs.Denied, "ticket", "this is a ticket of a help desk: resolve it instead of leaving it")

// Ticket is a state of a ticket's conversation. Version 1 creates it.
type Ticket struct {
	Conversation    id.Conversation
	Version         uint64
	Title           string
	Announcement    string
	Customer, Agent id.User // Agent is 0 if nobody serves it
	Actor           id.User // who changed it; 0: the server
	Status          chatv1.TicketStatus
}

// PutTicket gives the conversation of a ticket a state, and creates it first if it is missing. It may be repeated, also after a part of it.
func (s *Service) PutTicket(ctx context.Context, t Ticket) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, ticket) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING`, int64(t.Conversation), group)
		return err
	})
	if err != nil {
		return err
	}
	created := &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Users: []uint64{uint64(t.Customer)}, Text: t.Title, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_INVITE}
	if err := s.appendCreated(ctx, t.Conversation, created); err != nil {
		return err
	}
	for {
		seq, err := s.change(ctx, t.Conversation, func(st *state) (*chatv1.Control, error) { return st.nextTicketControl(t), nil })
		if err != nil || seq == 0 {
			return err
		}
	}
}

// nextTicketControl returns the next entry that brings a conversation to the state of a ticket, nil if it is there or has a later one.
func (s *state) nextTicketControl(t Ticket) *chatv1.Control {
	switch {
	case s.ticket > t.Version || s.ticket == 0:
		return nil
	case s.ticket < t.Version:
		c := &chatv1.Control{Action: chatv1.Control_ACTION_TICKET, Actor: uint64(t.Actor), TicketVersion: t.Version, TicketStatus: t.Status}
		if t.Agent != 0 {
			c.Users = []uint64{uint64(t.Agent)}
		}
		return c
	case s.title != t.Title:
		return &chatv1.Control{Action: chatv1.Control_ACTION_RENAMED, Text: t.Title}
	case s.announcement != t.Announcement:
		return &chatv1.Control{Action: chatv1.Control_ACTION_ANNOUNCED, Text: t.Announcement}
	}
	for _, u := range s.activeMembers {
		if u != t.Customer && u != t.Agent {
			return &chatv1.Control{Action: chatv1.Control_ACTION_REMOVED, Users: []uint64{uint64(u)}}
		}
	}
	if t.Agent != 0 && s.role(t.Agent) == 0 {
		return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: []uint64{uint64(t.Agent)}}
	}
	return nil
}

// applyTicket applies the first entry of a version: nobody writes while the ticket is resolved.
func (s *state) applyTicket(c *chatv1.Control) {
	s.ticket, s.mutedAllMs = c.TicketVersion, 0
	if c.TicketStatus == chatv1.TicketStatus_TICKET_STATUS_RESOLVED {
		s.mutedAllMs = math.MaxInt64
	}
}

// TicketMessages says who wrote messages in a part of a conversation.
type TicketMessages struct {
	// Through is the last entry that was read; More: there are further ones.
	Through uint64
	More    bool
	// FirstMs is when another user than the customer first wrote, 0: none did. LastMs is when the last message was written, and FromCustomer
	// whether the customer wrote it; 0: there is none.
	FirstMs, LastMs int64
	FromCustomer    bool
}

// activityEntries bounds the entries of one TicketMessages.
const activityEntries = 100

// ReadTicketMessages returns who wrote in a ticket after an entry, for at most 100 entries.
func (s *Service) ReadTicketMessages(ctx context.Context, c id.Conversation, customer id.User, after uint64) (a TicketMessages, err error) {
	a.Through = after
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil || tail.Seq <= after {
		return a, err
	}
	entries, err := s.deps.Log.Read(ctx, logKey(c), after, activityEntries)
	if err != nil {
		return a, err
	}
	for _, stored := range entries {
		var e message.Entry
		a.Through = stored.Seq
		// The sender of a corrupt entry is unknown. A reaction, another update or a signal is no answer.
		if err := e.Decode(stored.Payload); err != nil || e.Control || e.Sender == 0 || e.Updates != 0 || message.IsSignal(e.Content) {
			continue
		}
		if a.LastMs, a.FromCustomer = e.ID.Ms(), e.Sender == customer; !a.FromCustomer && a.FirstMs == 0 {
			a.FirstMs = a.LastMs
		}
	}
	a.More = a.Through < tail.Seq
	return a, nil
}
