package chat

import (
	"context"
	"sync"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/proto"
)

// Audience gives the users who get the entry at seq, and whether the conversation is large. The slice is shared.
func (s *Service) Audience(ctx context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error) {
	st, err := s.get(ctx, c)
	if err != nil {
		return nil, false, err
	}
	return st.audience(seq), st.large != 0 && seq > st.large, nil
}

// HighestCounter of a device: its messages are counted on from there.
func (s *Service) HighestCounter(ctx context.Context, c id.Caller) (uint64, error) {
	return s.deps.Log.HighestCounter(ctx, uint64(c.User), uint64(c.Device))
}

type typingOf struct {
	user         id.User
	conversation id.Conversation
}

type typings struct {
	mu   sync.Mutex // guards last
	last map[typingOf]int64
}

// admit lets one a second through.
func (t *typings) admit(of typingOf, nowMs int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if nowMs-t.last[of] < 1000 {
		return false
	}
	if len(t.last) > 10_000 {
		clear(t.last)
	}
	t.last[of] = nowMs
	return true
}

// Typing tells the other members of a small conversation, at most once a second.
func (s *Service) Typing(ctx context.Context, u id.User, c id.Conversation) error {
	st, err := s.get(ctx, c)
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now().UnixMilli()
	if err := st.admits(u, now); err != nil {
		return err
	}
	if st.large != 0 || s.deps.Transient == nil || !s.typing.admit(typingOf{u, c}, now) {
		return nil
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Typing: &gatewayv1.Typing{Conversation: uint64(c), User: uint64(u)}})
	if err != nil {
		return err
	}
	others := make([]id.User, 0, len(st.current))
	for _, m := range st.current {
		if m != u {
			others = append(others, m)
		}
	}
	s.deps.Transient(others, frame)
	return nil
}
