package chat

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// FindSent returns the conversation and the seq of a message that a service sent for a user to another one, by its client_msg_id. The seq is 0 if there
// is none. It sends nothing.
func (s *Service) FindSent(ctx context.Context, from, to id.User, clientMsgID string) (c id.Conversation, seq uint64, err error) {
	if c, err = s.findDirect(ctx, from, to); err != nil || c == 0 {
		return 0, 0, err
	}
	d := &message.Draft{Conversation: c, Sender: from, ClientMsgID: clientMsgID}
	found := make(chan *timeline.AppendRequest, 1)
	s.deps.Log.Append(&timeline.AppendRequest{Key: logKey(c), Token: dedupToken(d), CheckAccess: true, ExpectedAccess: impossibleAccess, Done: func(a *timeline.AppendRequest) { found <- a }})
	select {
	case a := <-found:
		if errors.Is(a.Err, timeline.ErrStale) {
			return c, 0, nil
		}
		return c, a.Seq, a.Err
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}
