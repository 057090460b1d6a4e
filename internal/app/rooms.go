package app

import (
	"context"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/inbox"
)

// conversations is the chat room as the inbox room sees it.
type conversations struct{ *chat.Service }

func (c conversations) Of(ctx context.Context, u id.User) ([]inbox.Membership, error) {
	list, err := c.Service.Of(ctx, u)
	out := make([]inbox.Membership, len(list))
	for i, m := range list {
		out[i] = inbox.Membership(m)
	}
	return out, err
}

// message gives one message that a user may read.
func (h *House) message(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error) {
	if seq > 0 {
		from, to, err := h.chat.May(ctx, u, c)
		if err != nil {
			return nil, err
		}
		if seq >= from && seq <= to {
			page, err := h.chat.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(c), Before: seq + 1, Limit: 1})
			if err != nil {
				return nil, err
			}
			if len(page.Messages) == 1 && page.Messages[0].Seq == seq {
				return page.Messages[0], nil
			}
		}
	}
	return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
}

func (h *House) hidesRead(ctx context.Context, u id.User) (bool, error) {
	s, err := h.accounts.GetSettings(ctx, id.Caller{User: u})
	return s.GetHideRead(), err
}

func (h *House) hidesPresence(ctx context.Context, u id.User) (bool, error) {
	s, err := h.accounts.GetSettings(ctx, id.Caller{User: u})
	return s.GetHidePresence(), err
}
