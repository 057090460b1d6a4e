package rialto

import (
	"context"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Reactors calls f with each user who reacted to the message at seq with an emoji, by user id, until it returns false.
func (c *Client) Reactors(ctx context.Context, conversation, seq uint64, emoji string, f func(user uint64) bool) error {
	for page := ""; ; {
		r, err := c.chat.ListReactions(ctx, connect.NewRequest(&chatv1.ListReactionsRequest{Conversation: conversation, Seq: seq, Emoji: emoji, Limit: 200, Page: page}))
		if err != nil {
			return err
		}
		for _, user := range r.Msg.Users {
			if !f(user) {
				return nil
			}
		}
		if page = r.Msg.Next; page == "" {
			return nil
		}
	}
}
