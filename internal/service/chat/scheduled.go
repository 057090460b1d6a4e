package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/message"
)

// CheckDraft returns why a draft is not valid. It gives the content the form that is stored, and notes the uploads that it refers to.
func (s *Service) CheckDraft(d *message.Draft) error { return s.validate(d) }

// CheckScheduled returns why a draft is not valid, or why its sender may not write in its conversation now. It gives the content the form
// that is stored. Whether the sender may still write when the draft is sent is checked by Send.
func (s *Service) CheckScheduled(ctx context.Context, d *message.Draft) error {
	if err := s.validate(d); err != nil {
		return err
	}
	st, err := s.linearizableState(ctx, d.Conversation)
	if err != nil {
		return err
	}
	return s.explainRejection(ctx, st, d.Sender, st.canSend(d.Sender, s.deps.Clock.Now().UnixMilli()))
}
