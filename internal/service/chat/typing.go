package chat

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

type typingKey struct {
	user         id.User
	conversation id.Conversation
}

type typingLimiter struct {
	mu   sync.Mutex // guards last
	last map[typingKey]int64
}

// allow admits one event a second.
func (t *typingLimiter) allow(of typingKey, nowMs int64) bool {
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

// Typing notifies the other members of a small conversation that a user is typing, at most once a second.
func (s *Service) Typing(ctx context.Context, u id.User, c id.Conversation) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now().UnixMilli()
	if err := st.canSend(u, now); err != nil {
		return err
	}
	if limited, err := s.isLimitedNow(ctx, st, u); err != nil || limited {
		return err
	}
	if st.large != 0 || s.deps.SendTransient == nil || !s.typing.allow(typingKey{u, c}, now) {
		return nil
	}
	if s.deps.HidesPresence != nil {
		if hides, err := s.deps.HidesPresence(ctx, u); err != nil || hides {
			return err
		}
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Typing: &gatewayv1.Typing{Conversation: uint64(c), User: uint64(u)}})
	if err != nil {
		return err
	}
	others := make([]id.User, 0, len(st.activeMembers))
	for _, m := range st.readers(st.activeMembers) {
		if m != u {
			others = append(others, m)
		}
	}
	s.deps.SendTransient(others, frame)
	return nil
}
