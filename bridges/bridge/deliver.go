package bridge

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

const (
	// pullWaitMs is how long a pull waits for events, and pageSize how many it gives.
	pullWaitMs = 20_000
	pageSize   = 50
	// roomTimeout is how long a room that cannot be reached, while its system can, holds up the messages to other rooms. After it, messages to the room are refused until it is reached.
	roomTimeout = time.Minute
	// permissionTime is how long the refusal of a user counts.
	permissionTime = 5 * time.Minute
	// maxNames bounds the names and permissions that are remembered; names for nameTime.
	maxNames = 10_000
	nameTime = 10 * time.Minute
)

type cachedName struct {
	name string
	at   time.Time
}

type permission struct{ conversation, user uint64 }

// consumeEvents has events delivered until ctx ends. It confirms a page once each of it was reported.
func (b *Bridge) consumeEvents(ctx context.Context, consumer string) {
	cursor, unreachableSince := "", map[uint64]time.Time{}
	for ctx.Err() == nil {
		page, err := b.config.Rialto.Events.PullEvents(ctx, connect.NewRequest(&eventv1.PullEventsRequest{Consumer: consumer, Cursor: cursor, Limit: pageSize, WaitMs: pullWaitMs}))
		if err == nil {
			for _, e := range page.Msg.Events {
				if !b.deliverWithRetry(ctx, e, unreachableSince) {
					return
				}
			}
			cursor = page.Msg.Cursor
			_, err = b.config.Rialto.Events.ConfirmEvents(ctx, connect.NewRequest(&eventv1.ConfirmEventsRequest{Consumer: consumer, Cursor: cursor}))
		}
		if err != nil {
			cursor = "" // from what is confirmed
			if !b.pause(ctx, "events are pulled again", err) {
				return
			}
		}
	}
}

// deliverWithRetry delivers an event, until that has succeeded or was refused. unreachableSince has since when rooms are unreachable, by their conversations. It returns false if ctx ends before.
func (b *Bridge) deliverWithRetry(ctx context.Context, e *eventv1.ServerEvent, unreachableSince map[uint64]time.Time) bool {
	for {
		err := b.deliver(ctx, e)
		if err == nil {
			delete(unreachableSince, e.Conversation)
			return true
		}
		var room *unreachableError
		if errors.As(err, &room) {
			since, is := unreachableSince[e.Conversation]
			if !is {
				since = time.Now()
				unreachableSince[e.Conversation] = since
			}
			if time.Since(since) > roomTimeout && b.report(ctx, e.Conversation, targetOf(e), "", NewRefusal("unreachable", "The room cannot be reached.")) == nil {
				return true
			}
		}
		if !b.pause(ctx, "a message to the other system is sent again", err) {
			return false
		}
	}
}

// unreachableError says that a room cannot be reached, while its system can.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error { return e.error }

// reachError returns an error of the system, as one of the room if it is not one of the connection.
func reachError(err error) error {
	if err == nil || errors.Is(err, ErrDisconnected) || errors.Is(err, context.Canceled) {
		return err
	}
	return &unreachableError{err}
}

// targetOf returns the seq of the message to which the report about an event belongs; 0: none does.
func targetOf(e *eventv1.ServerEvent) uint64 {
	switch edit := e.Message.GetContent().GetEdit(); {
	case e.Kind == eventv1.EventKind_EVENT_KIND_MESSAGE:
		return e.Seq
	case edit.GetEnds():
		return edit.GetTarget().GetSeq()
	}
	return 0
}

// deliver delivers an event to the room with which its conversation is linked, and reports what became of it.
func (b *Bridge) deliver(ctx context.Context, e *eventv1.ServerEvent) error {
	if e.Kind == eventv1.EventKind_EVENT_KIND_MEMBER_JOINED {
		b.Changed()
		return nil
	}
	if e.Message.GetContent() == nil || e.Message.Content.GetStreamed() != nil { // taken back since, or still being written
		return nil
	}
	room, err := b.roomFor(ctx, e.Conversation)
	if err != nil || room == "" {
		return err
	}
	m, refusal, err := b.outgoingOf(ctx, e)
	if err != nil || m == nil && refusal == nil {
		return err
	}
	id := ""
	if refusal == nil {
		id, err = b.system.Deliver(ctx, room, *m)
		if err != nil && !errors.As(err, &refusal) {
			return reachError(err)
		}
		if err := b.putPermission(ctx, e.Conversation, m.User, refusal); err != nil {
			return err
		}
	}
	if refusal != nil {
		b.config.Logger.Info("the room refuses a message", "room", room, "id", e.Id, "reason", refusal.Reason)
	}
	return b.report(ctx, e.Conversation, targetOf(e), id, refusal)
}

// roomFor returns the room of a conversation once the bridge is in it; empty: the conversation is not linked.
func (b *Bridge) roomFor(ctx context.Context, conversation uint64) (string, error) {
	room, l := b.linkOf(conversation)
	if l == nil || l.State != active {
		if err := b.refresh(ctx); err != nil {
			return "", err
		}
		if room, l = b.linkOf(conversation); l == nil {
			return "", nil
		}
	}
	if err := b.enter(ctx, room, l); err != nil {
		return "", err
	}
	if _, l = b.linkOf(conversation); l == nil || l.State != active {
		return "", nil
	}
	return room, nil
}

// report reports what became of a message. target is 0 for an entry that has no report, such as an edit.
func (b *Bridge) report(ctx context.Context, conversation, target uint64, id string, refusal *Refusal) error {
	if target == 0 {
		return nil
	}
	r := &bridgev1.ReportDeliveryRequest{Conversation: conversation, Seq: target, ExternalId: id}
	if refusal != nil {
		r.ExternalId, r.Reason, r.Text = "", refusal.Reason, refusal.Text
	}
	err := withoutBadText(&r.Text, func() error {
		_, err := b.config.Rialto.ReportDelivery(ctx, connect.NewRequest(r))
		return err
	})
	if isRefused(err) { // the message has expired, or the link was ended
		b.config.Logger.Warn("Rialto refuses a report", "conversation", conversation, "seq", target, "error", err)
		return nil
	}
	return err
}

// putPermission stores that a user may not write, or may again.
func (b *Bridge) putPermission(ctx context.Context, conversation, user uint64, refusal *Refusal) error {
	reason := ""
	if refusal != nil {
		if !refusal.OfUser {
			return nil
		}
		reason = refusal.Reason
	}
	key := permission{conversation, user}
	b.mu.Lock()
	before := b.permissions[key]
	b.mu.Unlock()
	if reason == "" && before == "" {
		return nil
	}
	p := &bridgev1.BridgePermission{Allowed: refusal == nil, UntilMs: time.Now().Add(permissionTime).UnixMilli()}
	if refusal != nil {
		p.Reason, p.Text = refusal.Reason, refusal.Text
	}
	err := withoutBadText(&p.Text, func() error {
		_, err := b.config.Rialto.PutBridgePermission(ctx, connect.NewRequest(&bridgev1.PutBridgePermissionRequest{Conversation: conversation, User: user, Permission: p}))
		return err
	})
	if err != nil && !isRefused(err) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.permissions) >= maxNames {
		clear(b.permissions)
	}
	b.permissions[key] = reason
	return nil
}

// nameOf returns the name of a user here.
func (b *Bridge) nameOf(ctx context.Context, user uint64) (string, error) {
	b.mu.Lock()
	n := b.names[user]
	b.mu.Unlock()
	if time.Since(n.at) < nameTime {
		return n.name, nil
	}
	res, err := b.config.Rialto.Accounts.GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{user}}))
	if err != nil && !isRefused(err) {
		return "", err
	}
	name := "somebody"
	if err == nil && len(res.Msg.Users) == 1 && res.Msg.Users[0].DisplayName != "" {
		name = res.Msg.Users[0].DisplayName
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.names) >= maxNames {
		clear(b.names)
	}
	b.names[user] = cachedName{name, time.Now()}
	return name, nil
}

// messageOf returns a message of a conversation as it is now; nil: it is not there any more.
func (b *Bridge) messageOf(ctx context.Context, conversation, seq uint64) (*chatv1.Message, error) {
	res, err := b.config.Rialto.Chat.GetMessages(ctx, connect.NewRequest(&chatv1.GetMessagesRequest{Conversation: conversation, Seqs: []uint64{seq}}))
	if isRefused(err) {
		return nil, nil
	}
	if err != nil || len(res.Msg.Messages) == 0 {
		return nil, err
	}
	return res.Msg.Messages[0], nil
}
