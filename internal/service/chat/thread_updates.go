package chat

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Clients that show the root of a thread learn of new replies by frames that may be lost: at most one in threadUpdateInterval from each node for each
// thread, however many replies there are. Members of large groups get none: their roots have the numbers when they are read.

const (
	threadUpdateInterval = time.Second
	// maxThreadUpdates bounds the threads whose frames wait. Those beyond get no frame.
	maxThreadUpdates = 10_000
)

// threadUpdates has the threads that changed since the last frames.
type threadUpdates struct {
	mu      sync.Mutex // guards changed
	changed map[id.Conversation]struct{}
}

func (t *threadUpdates) note(c id.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = map[id.Conversation]struct{}{}
	}
	if len(t.changed) < maxThreadUpdates {
		t.changed[c] = struct{}{}
	}
}

func (t *threadUpdates) take() map[id.Conversation]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.changed
	t.changed = nil
	return changed
}

// runThreadUpdates pushes what threads are now, until ctx ends.
func (s *Service) runThreadUpdates(ctx context.Context) {
	tick := time.NewTicker(threadUpdateInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.pushThreadUpdates(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) pushThreadUpdates(ctx context.Context) {
	for c := range s.threadUpdates.take() {
		if err := s.pushThreadUpdate(ctx, c); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("the new number of replies was not pushed", "thread", c, "error", err)
		}
	}
}

func (s *Service) pushThreadUpdate(ctx context.Context, c id.Conversation) error {
	st, err := s.boundedStaleState(ctx, c)
	if err != nil || st.parent.large != 0 || s.deps.SendTransient == nil {
		return err
	}
	list, err := s.threadsNow(ctx, map[id.Conversation]id.Conversation{c: st.parentID})
	if err != nil {
		return err
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Threads: []*gatewayv1.ThreadUpdate{{Conversation: uint64(st.parentID), Seq: st.rootSeq, Thread: list[c]}}})
	if err != nil {
		return err
	}
	s.deps.SendTransient(st.readers(st.parent.activeMembers), frame)
	return nil
}
