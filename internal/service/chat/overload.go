package chat

import (
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// Groups of fewer than smallGroup members are served like one-to-one conversations under overload; those of fewer than mediumGroup before larger ones.
const (
	smallGroup  = 100
	mediumGroup = 2000
)

// refuseOverloaded returns the refusal of a draft for which the log has no capacity, or nil. The caller holds c.mu.
func (s *Service) refuseOverloaded(c *conversation, d *message.Draft) error {
	if !s.deps.Overload.Refuses() || d.ByServer {
		return nil
	}
	return s.deps.Overload.Admit(sendPriority(c.state, d), overload.Caller{User: uint64(d.Sender), Conversation: uint64(d.Conversation)})
}

// sendPriority returns the priority of a draft in a conversation, whose state is nil if it is not loaded. That of a thread has no members of its own, and counts as small.
func sendPriority(st *state, d *message.Draft) overload.Priority {
	switch {
	case message.IsSignal(d.Content), st != nil && (st.channel || len(st.activeMembers) >= mediumGroup):
		return overload.Low
	case d.Application, st == nil, len(st.activeMembers) >= smallGroup:
		return overload.Normal
	}
	return overload.High
}
