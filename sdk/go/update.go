package rialto

import (
	"context"
	"slices"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Reply sends a text of 1 to 100,000 characters that answers the message at seq, and waits until it is stored, as Send does. To reply with
// another content, set its ReplyTo and call Send.
func (c *Client) Reply(ctx context.Context, conversation, seq uint64, text string) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}, ReplyTo: &chatv1.Ref{Seq: seq}})
}

// Edit replaces the text of this user's message at seq, and waits until the edit is stored, as Send does. The receipt has the seq of the
// edit. The server refuses it with not_sender, recalled, or bad_edit where the message is no text. To change a file's caption, send
// a chatv1.Edit with the file's content.
func (c *Client) Edit(ctx context.Context, conversation, seq uint64, text string) (*gatewayv1.Receipt, error) {
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content}}})
}

// Recall takes the message at seq back for everybody, and waits until that is stored, as Send does. Nothing undoes it. The server
// refuses it with not_allowed, or with too_late once the deployment's time limit (24 hours by default) is over.
func (c *Client) Recall(ctx context.Context, conversation, seq uint64) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
}

// React adds this user's emoji, of at most 32 bytes, to the message at seq, and waits until that is stored, as Send does. A message has
// at most 50 different emoji. Adding an emoji twice changes nothing.
func (c *Client) React(ctx context.Context, conversation, seq uint64, emoji string) (*gatewayv1.Receipt, error) {
	return c.react(ctx, conversation, &chatv1.Reaction{Target: &chatv1.Ref{Seq: seq}, Emoji: emoji})
}

// Unreact removes an emoji that this user added to the message at seq, and waits until that is stored, as Send does. Without such an emoji
// it changes nothing.
func (c *Client) Unreact(ctx context.Context, conversation, seq uint64, emoji string) (*gatewayv1.Receipt, error) {
	return c.react(ctx, conversation, &chatv1.Reaction{Target: &chatv1.Ref{Seq: seq}, Emoji: emoji, Remove: true})
}

func (c *Client) react(ctx context.Context, conversation uint64, r *chatv1.Reaction) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: r}})
}

// Pin pins the message at seq for all members, and waits until that is stored, as Send does. In a group, the server refuses it with
// not_allowed unless this user is an admin or the owner. Chat().ListPins returns the pinned messages.
func (c *Client) Pin(ctx context.Context, conversation, seq uint64) (*gatewayv1.Receipt, error) {
	return c.pin(ctx, conversation, &chatv1.Pin{Target: &chatv1.Ref{Seq: seq}})
}

// Unpin removes the pin of the message at seq for all members, and waits until that is stored, as Send does. It is allowed to those who may
// pin.
func (c *Client) Unpin(ctx context.Context, conversation, seq uint64) (*gatewayv1.Receipt, error) {
	return c.pin(ctx, conversation, &chatv1.Pin{Target: &chatv1.Ref{Seq: seq}, Remove: true})
}

func (c *Client) pin(ctx context.Context, conversation uint64, p *chatv1.Pin) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: p}})
}

// UpdateTarget returns the seq of the message that an update changes. Updates are edits, recalls, reactions, pins and reports of bridges: events and histories
// contain them, and programs show nothing in their place. For messages, control entries and unknown contents it returns 0.
func UpdateTarget(m *chatv1.Message) (seq uint64) {
	switch k := m.GetContent().GetKind().(type) {
	case *chatv1.Content_Edit:
		return k.Edit.GetTarget().GetSeq()
	case *chatv1.Content_Recall:
		return k.Recall.GetTarget().GetSeq()
	case *chatv1.Content_Reaction:
		return k.Reaction.GetTarget().GetSeq()
	case *chatv1.Content_Pin:
		return k.Pin.GetTarget().GetSeq()
	case *chatv1.Content_BridgeReport:
		return k.BridgeReport.GetTarget().GetSeq()
	}
	return 0
}

// ApplyUpdate returns target with the effect of update, as the server would return the message. It changes neither of the two: the result
// is a copy, or target itself if update does not change it, because it has another target or because target has a newer state. An update may
// be applied again. Of edits and pins the one with the highest seq wins, of reactions the one with the highest version, and a recall is
// final. This user's own emoji (Reactions.Mine) follow the order of calls: apply updates in the order of events.
func (c *Client) ApplyUpdate(target, update *chatv1.Message) *chatv1.Message {
	seq := UpdateTarget(update)
	if seq == 0 || seq != target.GetSeq() || update.Conversation != target.GetConversation() || target.RecallSeq != 0 {
		return target
	}
	m := proto.Clone(target).(*chatv1.Message)
	switch k := update.Content.Kind.(type) {
	case *chatv1.Content_Edit:
		if update.Seq <= target.EditSeq {
			return target
		}
		m.Content, m.EditSeq, m.EditedMs = proto.CloneOf(k.Edit.Content), update.Seq, update.TimeMs
		if k.Edit.Ends { // the end of a streamed message
			m.EditedMs = 0
		}
	case *chatv1.Content_Recall:
		m.Content, m.EditSeq, m.EditedMs, m.Reactions, m.Pinned = nil, 0, 0, nil, false
		m.RecallSeq, m.RecalledBy = update.Seq, update.Sender
	case *chatv1.Content_Reaction:
		m.Reactions = applyReaction(m.Reactions, k.Reaction, update.Sender == c.User())
	case *chatv1.Content_Pin:
		if update.Seq <= target.PinSeq {
			return target
		}
		m.PinSeq, m.Pinned = update.Seq, !k.Pin.Remove
	case *chatv1.Content_BridgeReport:
		m.BridgeDeliveries = withDelivery(m.BridgeDeliveries, k.BridgeReport.GetDelivery(), update.Seq)
	}
	return m
}

// withDelivery returns the reports of bridges about a message with another one, which has a seq. The one with the higher seq of a bridge counts; they are in the order of their seqs.
func withDelivery(before []*chatv1.BridgeDelivery, d *chatv1.BridgeDelivery, seq uint64) []*chatv1.BridgeDelivery {
	after := slices.Clone(before)
	if i := slices.IndexFunc(after, func(b *chatv1.BridgeDelivery) bool { return b.Bridge == d.GetBridge() }); i >= 0 {
		if after[i].Seq >= seq {
			return before
		}
		after = slices.Delete(after, i, i+1)
	}
	d = proto.CloneOf(d)
	d.Seq = seq
	return append(after, d)
}

// applyReaction returns the reactions to a message after an update; nil if there never were any.
func applyReaction(before *chatv1.Reactions, r *chatv1.Reaction, own bool) *chatv1.Reactions {
	after := &chatv1.Reactions{Version: before.GetVersion(), Counts: before.GetCounts(), Mine: before.GetMine()}
	if now := r.Reactions; now.GetVersion() > after.Version {
		after.Version, after.Counts = now.Version, proto.CloneOf(now).Counts
	}
	if own {
		after.Mine = slices.DeleteFunc(slices.Clone(after.Mine), func(emoji string) bool { return emoji == r.Emoji })
		if !r.Remove {
			after.Mine = append(after.Mine, r.Emoji) // the last one that was added is the last one
		}
	}
	if before == nil && after.Version == 0 && len(after.Mine) == 0 {
		return nil
	}
	return after
}
