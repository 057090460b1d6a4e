package bridge

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

var (
	errLinksUnknown = errors.New("the links are not known yet")
	errLinkPending  = errors.New("the link of the room is not active yet")
)

// store stores in Rialto what the spool has, in order, until ctx ends. Others pass a message that Rialto has answered and not stored for long: it holds up no other room.
func (b *Bridge) store(ctx context.Context) {
	for ctx.Err() == nil {
		m, ok, err := b.spool.first()
		if err == nil && ok {
			if err = b.storeOne(ctx, m.Received); err == nil {
				err = b.spool.done(m)
			} else if isOfMessage(err) && b.spool.fail(m) {
				b.config.Logger.Error("a message from the other system cannot be stored; later messages overtake it, and it is retried", "room", m.Room, "id", m.ID, "error", err)
				continue
			}
		}
		switch {
		case err != nil:
			if !b.pause(ctx, "a message from the other system is stored again", err) {
				return
			}
		case !ok:
			select {
			case <-ctx.Done():
			case <-b.spool.ready:
			case <-time.After(deferFirst):
			}
		}
	}
}

// isOfMessage reports whether a failure may concern one message, while others can be stored: Rialto has answered.
func isOfMessage(err error) bool {
	return errors.Is(err, errLinkPending) || rialto.Reason(err) != "" && connect.CodeOf(err) != connect.CodeUnavailable
}

// storeOne stores one message. What Rialto refuses for good is logged and left out.
func (b *Bridge) storeOne(ctx context.Context, m Received) error {
	m.Room = b.system.Normalize(m.Room) // it may have been written down by another rule
	b.mu.Lock()
	link, loaded := b.links.byRoom[m.Room], b.linksLoaded
	b.mu.Unlock()
	if !loaded {
		return errLinksUnknown
	}
	if link == nil || link.State == refused {
		return nil
	}
	if link.State == pending { // the room was entered just now: its state is reported first
		b.Changed()
		return errLinkPending
	}
	r := &bridgev1.SendBridgedMessageRequest{Conversation: link.Conversation, ExternalId: m.ID}
	switch {
	case m.Edits != "":
		r.Entry = &bridgev1.SendBridgedMessageRequest_Edit{Edit: &bridgev1.BridgedEdit{Target: m.Edits, Text: m.Text}}
	case m.Recalls != "":
		r.Entry = &bridgev1.SendBridgedMessageRequest_Recall{Recall: &bridgev1.BridgedRecall{Target: m.Recalls}}
	default:
		r.Entry, r.ReplyTo = &bridgev1.SendBridgedMessageRequest_Text{Text: m.Text}, m.ReplyTo
		r.Sender = &bridgev1.BridgedSender{Address: m.Address, Name: Line(m.Name, 64)}
	}
	_, err := b.config.Rialto.SendBridgedMessage(ctx, connect.NewRequest(r))
	switch {
	case !isRefused(err) && rialto.Reason(err) != "too_many_bridged_users": // which is exhausted for good
		return err
	case m.Edits != "" && rialto.Reason(err) == "no_message": // the message is not here: what replaces it is a message of its own
		m.Edits = ""
		return b.storeOne(ctx, m)
	case rialto.Reason(err) == "not_linked":
		b.Expelled(m.Room, NewRefusal("bot_removed", "The bridge is no member of the group any more. Link the group again."))
	}
	b.config.Logger.Warn("Rialto refuses a message from the other system", "room", m.Room, "id", m.ID, "error", err)
	return nil
}
