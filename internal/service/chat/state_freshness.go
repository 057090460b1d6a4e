package chat

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A conversation's state in memory may be older than the log if other nodes write as well. An append detects that (ErrStale). A read
// compares the state with the log's access version:
//
//   - linearizableState each time. A user who was removed on another node reads nothing more here.
//   - boundedStaleState if the last check is older than maxStaleness: for frequent reads that need not be current.
//   - ownerState once after the partition was assigned to this node. From then on the node sees each change itself (AwaitApplied).
//
// With a single node, nothing is compared.

// maxStaleness bounds how far a state from boundedStaleState may lag behind other nodes.
const maxStaleness = 2 * time.Second

// PartitionAssigned makes ownerState verify each conversation of a partition once. It is called when this node has become the owner of
// the partition, before fan-out dispatches entries. Expired messages of the partition are deleted soon after.
func (s *Service) PartitionAssigned(partition int) {
	s.assignments[partition].Add(1)
	if s.deps.SingleNode {
		return // it has always owned the partition
	}
	wakeup.Signal(s.assigned)
}

// verification is when a state was compared with the log.
type verification struct {
	at         time.Time // monotonic
	assignment uint64    // of the partition, plus 1; 0: never
}

// linearizableState returns a conversation's state with every change that any node acknowledged before the call.
func (s *Service) linearizableState(ctx context.Context, c id.Conversation) (*state, error) {
	st, _, err := s.verifiedState(ctx, c)
	return st, err
}

// verifiedState is linearizableState with the tail of the log that the state was compared with. With a single node that is the zero Tail.
func (s *Service) verifiedState(ctx context.Context, c id.Conversation) (*state, timeline.Tail, error) {
	st, tail, err := s.verifiedOwnState(ctx, c)
	if err == nil {
		st, err = withParent(ctx, st, s.linearizableState)
	}
	return st, tail, err
}

// verifiedOwnState is verifiedState without the parent of a thread.
func (s *Service) verifiedOwnState(ctx context.Context, c id.Conversation) (*state, timeline.Tail, error) {
	assignment := s.assignments[logKey(c).Partition()].Load()
	for {
		st, err := s.cachedState(ctx, c)
		if err != nil || s.deps.SingleNode {
			return st, timeline.Tail{}, err
		}
		at := time.Now()
		tail, err := s.deps.Log.Tail(ctx, logKey(c))
		if err != nil {
			return nil, tail, err
		}
		r := s.conversation(c)
		r.mu.Lock()
		if st.access >= tail.Access {
			r.lastVerified = verification{at, assignment + 1}
			r.mu.Unlock()
			return st, tail, nil
		}
		r.invalidateBefore(tail.Access)
		r.mu.Unlock()
	}
}

// invalidateBefore drops a state that is older than an access version. It reports whether no state remains. The caller holds mu.
func (r *conversation) invalidateBefore(access uint64) (older bool) {
	if r.state != nil && r.state.access < access {
		r.state = nil
	}
	return r.state == nil
}

// boundedStaleState is like linearizableState, but may lag behind other nodes by maxStaleness.
func (s *Service) boundedStaleState(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.conversation(c)
	r.mu.Lock()
	st, at := r.state, r.lastVerified.at
	r.mu.Unlock()
	if st != nil && (s.deps.SingleNode || time.Since(at) < maxStaleness) {
		return withParent(ctx, st, s.boundedStaleState)
	}
	return s.linearizableState(ctx, c)
}

// ownerState is linearizableState for the owner of the conversation's partition. After the first check, the owner applies each change
// itself. A thread is in its parent's partition.
func (s *Service) ownerState(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.conversation(c)
	assignment := s.assignments[logKey(c).Partition()].Load()
	r.mu.Lock()
	st, verified := r.state, r.lastVerified.assignment == assignment+1
	r.mu.Unlock()
	if st != nil && (s.deps.SingleNode || verified) {
		parentState := s.ownerState
		if logKey(st.parentID).Partition() != logKey(c).Partition() {
			parentState = s.linearizableState
		}
		return withParent(ctx, st, parentState)
	}
	return s.linearizableState(ctx, c)
}

// invalidateStale drops the state if the log has a newer access version. It reports whether no state remains. The caller holds changeMu.
func (s *Service) invalidateStale(ctx context.Context, r *conversation) (bool, error) {
	if s.deps.SingleNode {
		return false, nil
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(r.id))
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.invalidateBefore(tail.Access), nil
}
