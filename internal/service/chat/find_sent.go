package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// FindSent returns the conversation and the seq of a message that a service sent for a user to another one, by its client_msg_id. The seq is 0 if there
// is none. It sends nothing.
func (s *Service) FindSent(ctx context.Context, from, to id.User, clientMsgID string) (c id.Conversation, seq uint64, err error) {
	if c, err = s.findDirect(ctx, from, to); err != nil || c == 0 {
		return 0, 0, err
	}
	seq, err = s.storedSeq(ctx, &message.Draft{Conversation: c, Sender: from, ClientMsgID: clientMsgID})
	return c, seq, err
}
