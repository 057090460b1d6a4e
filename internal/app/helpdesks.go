package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/helpdesk"
)

// openHelpDesks makes the service of help desks.
func (n *Node) openHelpDesks(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.helpDesks, err = helpdesk.New(ctx, helpdesk.Deps{DB: n.db, Outbox: n.outbox, Chat: ticketConversations{n.chat}, Accounts: n.accounts, IDs: ids, Online: n.online,
		Clock: n.clock, IsCoordinator: n.isCoordinator, Logger: n.logger})
	return err
}

// online reports which users are connected to any node.
func (n *Node) online(ctx context.Context, users []id.User) ([]bool, error) {
	statuses, err := n.directory.Statuses(ctx, users)
	if err != nil {
		return nil, err
	}
	list := make([]bool, len(users))
	for i, s := range statuses {
		list[i] = s.Online
	}
	return list, nil
}

// ticketConversations are the conversations of tickets in chat.
type ticketConversations struct{ chat *chat.Service }

func (t ticketConversations) PutTicket(ctx context.Context, c helpdesk.Conversation) error {
	return t.chat.PutTicket(ctx, chat.Ticket{Conversation: c.ID, Version: c.Version, Title: c.Title, Announcement: c.Announcement, Customer: c.Customer, Agent: c.Agent, Actor: c.Actor, Status: c.Status})
}

func (t ticketConversations) ReadTicketMessages(ctx context.Context, c id.Conversation, customer id.User, after uint64) (helpdesk.Messages, error) {
	m, err := t.chat.ReadTicketMessages(ctx, c, customer, after)
	return helpdesk.Messages(m), err
}
