package chat

import (
	"context"
	"maps"
	"slices"
	"sync"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/proto"
)

// Audience gives the users who get the entry at seq, and whether the conversation is large. The slice is shared.
func (s *Service) Audience(ctx context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error) {
	st, err := s.carried(ctx, c)
	if err != nil {
		return nil, false, err
	}
	users, whole := st.audience(seq)
	if !whole {
		users, err = s.audienceThen(ctx, st, seq)
	}
	return users, st.large != 0 && seq > st.large, err
}

// audienceThen walks the control entries back from the state to seq, and undoes what they changed.
func (s *Service) audienceThen(ctx context.Context, st *state, seq uint64) ([]id.User, error) {
	in := make(map[id.User]bool, len(st.current))
	for _, u := range st.current {
		in[u] = true
	}
	for at := st.access; at >= seq && at != 0; {
		control, err := s.control(ctx, st.id, at)
		if err != nil {
			return nil, err
		}
		switch control.Action {
		case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED: // who leaves is told so: the interval holds the entry
			for _, u := range control.Users {
				in[id.User(u)] = true
			}
		case chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_CREATED:
			for _, u := range control.Users {
				if at > seq {
					delete(in, id.User(u))
				}
			}
		}
		at = control.PrevAccess
	}
	return slices.Sorted(maps.Keys(in)), nil
}

// Applied returns when the control entry at seq is in the conversation's state here, so that Audience knows it, and in the rows, so
// that who hears of it finds it in lists, on any node. Who reads the log finds an entry before its append is told so, and on another
// node at any time.
func (s *Service) Applied(ctx context.Context, c id.Conversation, seq uint64) error {
	r := s.room(c)
	r.mu.Lock()
	// Of the state that is there now: one whose rows could not be written is dropped, and who holds it yet cannot tell.
	known := r.state != nil && r.state.access >= seq && (s.deps.Alone || r.settling == 0)
	r.mu.Unlock()
	if known {
		return nil
	}
	r.changing.Lock() // a change that is under way comes to its end first
	defer r.changing.Unlock()
	r.mu.Lock()
	if r.state != nil && r.state.access < seq {
		r.state = nil
	}
	r.mu.Unlock()
	st, err := s.fill(ctx, r)
	if err == nil && st.access < seq {
		err = errDamaged
	}
	return err
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
	st, err := s.current(ctx, c)
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
