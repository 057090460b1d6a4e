package chat

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// holdUnlessStored is holdForModerators, except for a retry of a message that is stored: it gets its receipt again, and would be sent twice otherwise.
func (s *Service) holdUnlessStored(d *message.Draft, why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
	defer cancel()
	if seq, err := s.storedSeq(ctx, d); err != nil || seq != 0 {
		return temporary(err)
	}
	return s.holdForModerators(d, why)
}

// holdForModerators puts a draft into the queue of moderators, and returns why the sender's message is not stored now. The beginning of a streamed message has no text to decide about: if it may
// be stored, it returns nil, and the text is held at its end.
func (s *Service) holdForModerators(d *message.Draft, why string) error {
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return err
	}
	switch begins := c.GetStreamed() != nil; {
	case begins && s.hidesParts(): // nobody reads a text before the webhook is asked about the whole one
		return nil
	case begins && why == webhook.NoAnswer:
		return s.beforeSend.reviewer.NotChecked(nil)
	case begins, s.deps.Hold == nil, d.Bridge != nil: // the author of a bridged message cannot be asked later
		return s.beforeSend.reviewer.Refused("")
	}
	token := d.ClientMsgID
	if token == "" {
		token = fmt.Sprint(d.Device, " ", d.ClientSeq)
	}
	ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
	defer cancel()
	return temporary(s.deps.Hold(ctx, d.Sender, d.Conversation, &c, token, why))
}

// SendHeld sends a message that a moderator has allowed, without the webhook and the words. A retry with the same token is harmless. It fails as Send does: also if its author may no
// longer write there.
func (s *Service) SendHeld(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token string) error {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	if err != nil {
		return err
	}
	d := &message.Draft{Conversation: c, Sender: by, ClientMsgID: token, Content: raw}
	if err := s.validate(d); err != nil {
		return err
	}
	return send(ctx, d, s.submitValid)
}
