package streamedmessage

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Start stores a message whose text its sender writes in parts, and makes this node its holder.
func (s *Service) Start(ctx context.Context, c id.Caller, q *chatv1.StartStreamedMessageRequest) (*chatv1.StartStreamedMessageResponse, error) {
	conversation := id.Conversation(q.Conversation)
	if err := s.reserve(c.User, conversation); err != nil {
		return nil, err
	}
	d, err := s.deps.Chat.StartStreamed(ctx, c, q)
	s.unreserve(c.User, conversation) // holdRow reserves again: the message may be an earlier one, which is held or has ended
	if err != nil {
		return nil, err
	}
	a := &chatv1.StartStreamedMessageResponse{Seq: d.Seq, Id: d.ID.String(), TimeMs: d.ID.Ms(), Counted: d.Counted, Duplicate: d.Duplicate}
	h, r, err := s.holdRow(ctx, key{conversation, d.Seq})
	switch {
	case err != nil:
		return nil, err
	case h != nil:
		h.mu.Lock()
		defer h.mu.Unlock()
		a.Length = uint32(h.length)
	case r == nil:
		a.Ended = true
	}
	return a, nil
}

// holdRow returns a message that this node holds, and makes it the holder if nobody is. If another node is, it returns the row. If both are
// nil, the message is not being written.
func (s *Service) holdRow(ctx context.Context, k key) (*held, *row, error) {
	if h := s.find(k); h != nil {
		return h, nil, nil
	}
	r, err := s.read(ctx, k)
	if err != nil || r == nil || !s.isGone(r.node) {
		return nil, r, err
	}
	if err := s.reserve(r.sender, k.conversation); err != nil {
		return nil, nil, err
	}
	claimed, err := s.claim(ctx, r)
	if err != nil {
		s.unreserve(r.sender, k.conversation)
		return nil, nil, err
	}
	if !claimed { // another node was faster, or this one by another call, or the message has ended
		s.unreserve(r.sender, k.conversation)
		return nil, nil, errMoving
	}
	h := s.hold(r)
	s.setChanged(h)
	return h, nil, nil
}
