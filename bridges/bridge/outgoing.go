package bridge

import (
	"context"
	"slices"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// outgoingOf returns an event as what the system sends. Nil without a refusal: there is nothing to send.
func (b *Bridge) outgoingOf(ctx context.Context, e *eventv1.ServerEvent) (m *Outgoing, refusal *Refusal, err error) {
	m = &Outgoing{Conversation: e.Conversation, Seq: e.Seq, Time: time.UnixMilli(e.Message.TimeMs), User: e.Message.Sender}
	content := e.Message.Content
	switch edit := content.GetEdit(); {
	case e.Kind == eventv1.EventKind_EVENT_KIND_RECALL:
		m, err = b.recallOf(ctx, m, content.GetRecall().GetTarget().GetSeq())
	case edit != nil && !edit.Ends:
		m, err = b.editOf(ctx, m, edit)
	default:
		if edit != nil { // a streamed message is sent when it ends
			m.Seq, content = edit.Target.GetSeq(), edit.Content
		}
		if m.Text = content.GetText(); m.Text == "" {
			return nil, NewRefusal("not_carried", "Only texts are carried."), nil
		}
		if b.delivered(e.Message) != "" {
			return nil, nil, nil // reported by a process that has died since
		}
		m.ReplyTo, err = b.replyOf(ctx, e.Conversation, content.GetReplyTo().GetSeq())
	}
	if err == nil && m != nil {
		m.Name, err = b.nameOf(ctx, m.User)
	}
	return m, nil, err
}

// delivered returns the id that a message from here has in the other system; empty: it was not delivered there.
func (b *Bridge) delivered(m *chatv1.Message) string {
	n := slices.IndexFunc(m.GetBridgeDeliveries(), func(d *chatv1.BridgeDelivery) bool { return d.Bridge == b.name })
	if n < 0 {
		return ""
	}
	return m.BridgeDeliveries[n].ExternalId
}

// recallOf returns the recall of a message that was delivered.
func (b *Bridge) recallOf(ctx context.Context, m *Outgoing, target uint64) (*Outgoing, error) {
	t, err := b.messageOf(ctx, m.Conversation, target)
	if m.Recalls = b.delivered(t); m.Recalls == "" || !b.config.Registration.Recalls {
		return nil, err
	}
	m.User = t.Sender
	return m, nil
}

// editOf returns the edit of a message that was delivered.
func (b *Bridge) editOf(ctx context.Context, m *Outgoing, edit *chatv1.Edit) (*Outgoing, error) {
	t, err := b.messageOf(ctx, m.Conversation, edit.GetTarget().GetSeq())
	if m.Text = edit.Content.GetText(); m.Text == "" || b.delivered(t) == "" || !b.config.Registration.Edits {
		return nil, err
	}
	m.Edits = edit.Target.Seq
	return m, nil
}

// replyOf returns the id that a message has in the other system, whichever side it comes from.
func (b *Bridge) replyOf(ctx context.Context, conversation, target uint64) (string, error) {
	if target == 0 {
		return "", nil
	}
	t, err := b.messageOf(ctx, conversation, target)
	if t.GetContent().GetBridge() == b.name {
		return t.Content.ExternalId, err
	}
	return b.delivered(t), err
}
