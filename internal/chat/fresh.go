package chat

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// A conversation's state in memory may be older than the log, where other nodes write as well. An append finds that out by itself
// (ErrStale). Who only reads asks the log for its access version:
//
//   - current, each time: what any node answered before is in it. Whoever was removed on another node reads nothing more here.
//   - recent, where the last look is older than recentFor: for what is no secret, and asked for very often.
//   - carried, once after this node began to carry the partition: from then on all that changes passes here (Applied).
//
// A process that has the stores for itself asks nothing.

// recentFor so long a state that recent gives may be behind other nodes.
const recentFor = 2 * time.Second

// Carries has this node look again at what it knows of a partition's conversations before it says who gets their entries. It is
// called when the node has taken the partition in the log, before it carries anything. What has expired there is removed soon.
func (s *Service) Carries(partition int) {
	s.turns[partition].Add(1)
	if s.deps.Alone {
		return // it had the partition before
	}
	select {
	case s.taken <- struct{}{}:
	default:
	}
}

// checked is when a state was found to be the newest.
type checked struct {
	at   time.Time // monotonic
	turn uint64    // of the partition, plus 1; 0: never
}

// current gives a conversation's state, with all that was answered by any node before the call.
func (s *Service) current(ctx context.Context, c id.Conversation) (*state, error) {
	turn := s.turns[key(c).Partition()].Load()
	for {
		st, err := s.get(ctx, c)
		if err != nil || s.deps.Alone {
			return st, err
		}
		at := time.Now()
		tail, err := s.deps.Log.Tail(ctx, key(c))
		if err != nil {
			return nil, err
		}
		r := s.room(c)
		r.mu.Lock()
		if st.access >= tail.Access {
			r.checked = checked{at, turn + 1}
			r.mu.Unlock()
			return st, nil
		}
		r.outdate(tail.Access)
		r.mu.Unlock()
	}
}

// outdate drops a state that is older than the log's access version. The caller holds r.mu.
func (r *room) outdate(access uint64) (older bool) {
	if r.state != nil && r.state.access < access {
		r.state = nil
	}
	return r.state == nil
}

// recent is current, but that it may be behind other nodes by recentFor.
func (s *Service) recent(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.room(c)
	r.mu.Lock()
	st, at := r.state, r.checked.at
	r.mu.Unlock()
	if st != nil && (s.deps.Alone || time.Since(at) < recentFor) {
		return st, nil
	}
	return s.current(ctx, c)
}

// carried is current for the node that carries the conversation: it has passed all that changed since the first look.
func (s *Service) carried(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.room(c)
	turn := s.turns[key(c).Partition()].Load()
	r.mu.Lock()
	st, looked := r.state, r.checked.turn == turn+1
	r.mu.Unlock()
	if st != nil && (s.deps.Alone || looked) {
		return st, nil
	}
	return s.current(ctx, c)
}

// newer drops a room's state where the log knows a newer one, and tells whether it did. The caller holds changing.
func (s *Service) newer(ctx context.Context, r *room) (bool, error) {
	if s.deps.Alone {
		return false, nil
	}
	tail, err := s.deps.Log.Tail(ctx, key(r.id))
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outdate(tail.Access), nil
}
