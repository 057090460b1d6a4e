package chat

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
)

// slotsPerSender is how many updates of one sender are applied at once: a quarter of all, so that the updates of others do not wait for a
// queue of one sender's.
const slotsPerSender = 16

// senderSlots bounds what is done at once for each sender. The zero value is ready.
type senderSlots struct {
	mu       sync.Mutex // guards the fields below
	bySender map[id.User]*senderSlot
}

type senderSlot struct {
	slots chan struct{}
	uses  int // those who have or want one; without any, the sender is forgotten
}

// acquire waits for a slot of the sender until ctx ends. The caller calls release if there is no error.
func (s *senderSlots) acquire(ctx context.Context, u id.User) (release func(), err error) {
	s.mu.Lock()
	if s.bySender == nil {
		s.bySender = map[id.User]*senderSlot{}
	}
	slot := s.bySender[u]
	if slot == nil {
		slot = &senderSlot{slots: make(chan struct{}, slotsPerSender)}
		s.bySender[u] = slot
	}
	slot.uses++
	s.mu.Unlock()
	select {
	case slot.slots <- struct{}{}:
		return func() {
			<-slot.slots
			s.leave(u, slot)
		}, nil
	case <-ctx.Done():
		s.leave(u, slot)
		return nil, ctx.Err()
	}
}

func (s *senderSlots) leave(u id.User, slot *senderSlot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.uses--; slot.uses == 0 {
		delete(s.bySender, u)
	}
}
