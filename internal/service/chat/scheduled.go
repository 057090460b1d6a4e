package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// CheckDraft returns why a draft is not valid. It gives the content the form that is stored, and notes the uploads that it refers to.
func (s *Service) CheckDraft(d *message.Draft) error { return s.validate(d) }

// CheckScheduled returns why a draft is not valid, or why its sender may not write in its conversation now, or not reply to the message
// that it names. It gives the content the form that is stored. Whether this still holds when the draft is sent is checked by Send.
func (s *Service) CheckScheduled(ctx context.Context, d *message.Draft) error {
	if err := s.validate(d); err != nil {
		return err
	}
	st, err := s.linearizableState(ctx, d.Conversation)
	if err != nil {
		return err
	}
	if err := st.canSend(d.Sender, s.deps.Clock.Now().UnixMilli()); err != nil {
		return s.explainRejection(ctx, st, d.Sender, err)
	}
	return s.checkQuoted(ctx, st, d)
}

// checkQuoted returns why a draft cannot reply to the message that it names, if it names one. Send checks it again.
func (s *Service) checkQuoted(ctx context.Context, st *state, d *message.Draft) error {
	if !d.Refers {
		return nil
	}
	content := &chatv1.Content{}
	if err := proto.Unmarshal(d.Content, content); err != nil {
		return err
	}
	target, err := s.targetOf(ctx, st, d, content.GetReplyTo().GetSeq())
	if err != nil {
		return err
	}
	return s.checkUpdate(ctx, st, d.Sender, target, content)
}
