package rialto

import (
	"context"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Versions calls f with each version of the message at seq, from the first to the present one, until it returns false. The content is that of the
// version; EditSeq and EditedMs are those of the edit, and 0 in the first version. The server refuses it with recalled for a recalled message.
func (c *Client) Versions(ctx context.Context, conversation, seq uint64, f func(*chatv1.Message) bool) error {
	for page := ""; ; {
		r, err := c.chat.ListEdits(ctx, connect.NewRequest(&chatv1.ListEditsRequest{Conversation: conversation, Seq: seq, Page: page}))
		if err != nil {
			return err
		}
		for _, version := range r.Msg.Versions {
			if !f(version) {
				return nil
			}
		}
		if page = r.Msg.Next; page == "" {
			return nil
		}
	}
}
