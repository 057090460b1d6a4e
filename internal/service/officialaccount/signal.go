package officialaccount

import (
	"context"
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// signalSubject is where nodes signal the coordinator.
	signalSubject = "official_accounts"
	// maxChanged bounds the accounts that are signalled at once. The poll finds the others.
	maxChanged = 10_000
)

// StreamChanged says that something was posted to a user's stream. It is called for each post, and does no I/O.
func (s *Service) StreamChanged(u id.User) {
	answering := s.answering.Load()
	if answering == nil {
		return
	}
	if _, is := (*answering)[u]; is {
		s.changed.Add(u)
	}
}

// FollowersChanged says that a follower's row was committed, perhaps with a welcome.
func (s *Service) FollowersChanged() { s.signal() }

// signal makes Run send replies soon, on the coordinator.
func (s *Service) signal() { s.changed.Signal() }

// forwardSignals sends the coordinator what was signalled on this node. On a poll it learns which accounts answer instead.
func (s *Service) forwardSignals(ctx context.Context, poll bool) {
	if poll {
		if err := s.eachAnswering(ctx, func([]*official) error { return nil }); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("messages to official accounts are signalled later", "error", err)
		}
		return
	}
	var data []byte
	for _, u := range s.changed.Take() {
		data = binary.BigEndian.AppendUint64(data, uint64(u))
	}
	_ = s.deps.Bus.Publish(signalSubject, data) //nolint:errcheck // the coordinator's poll finds what is lost
}

// handleSignal handles a signal of another node.
func (s *Service) handleSignal(data []byte) {
	if !s.isCoordinator() {
		return
	}
	for ; len(data) >= 8; data = data[8:] {
		s.changed.Add(id.User(binary.BigEndian.Uint64(data)))
	}
	s.signal()
}
