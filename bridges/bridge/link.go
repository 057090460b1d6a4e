package bridge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"google.golang.org/protobuf/proto"
)

// keepLinks enters the rooms of links, reports whether that was possible, and leaves those whose link was ended.
func (b *Bridge) keepLinks(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.reconcile(ctx); err != nil && !errors.Is(err, ErrDisconnected) && !b.pause(ctx, "links are checked again", err) {
			return
		}
		select {
		case <-ctx.Done():
		case <-b.check:
		case <-time.After(relink):
		}
	}
}

// reconcile compares the links with the rooms that the bridge is in. A room that cannot be entered now holds up no other one.
func (b *Bridge) reconcile(ctx context.Context) error {
	if err := b.refresh(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	links := maps.Clone(b.links)
	b.mu.Unlock()
	var err error
	for _, room := range slices.Sorted(maps.Keys(links)) {
		err = errors.Join(err, b.enter(ctx, room, links[room]))
	}
	return err
}

// refresh reads the links, and leaves the rooms of those that were ended.
func (b *Bridge) refresh(ctx context.Context) error {
	links, err := b.readLinks(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	before := b.links
	b.links, b.known = links, true
	b.mu.Unlock()
	for room := range before {
		if links[room] == nil {
			b.system.Leave(room)
		}
	}
	return nil
}

func (b *Bridge) readLinks(ctx context.Context) (map[string]*bridgev1.BridgeLink, error) {
	links := map[string]*bridgev1.BridgeLink{}
	for after, more := uint64(0), true; more; {
		page, err := b.config.Rialto.ListLinkedConversations(ctx, connect.NewRequest(&bridgev1.ListLinkedConversationsRequest{Limit: 200, After: after}))
		if err != nil {
			return nil, err
		}
		for _, l := range page.Msg.Links {
			after = l.Conversation
			room := b.system.Normalize(l.Address)
			if first := links[room]; first == nil || l.CreatedMs < first.CreatedMs {
				links[room] = l
			}
		}
		more = page.Msg.More && len(page.Msg.Links) > 0
	}
	return links, nil
}

// linkOf returns the link of a conversation, and its room.
func (b *Bridge) linkOf(conversation uint64) (string, *bridgev1.BridgeLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for room, l := range b.links {
		if l.Conversation == conversation {
			return room, l
		}
	}
	return "", nil
}

// enter enters the room of a link, and reports the answer of the system if that is new.
func (b *Bridge) enter(ctx context.Context, room string, l *bridgev1.BridgeLink) error {
	b.mu.Lock()
	no := b.expelled[room]
	b.mu.Unlock()
	switch {
	case l.State == refused:
		b.system.Leave(room)
		return nil
	case no != nil && l.State == active:
	case !slices.Contains(b.config.Rooms, "*") && !slices.Contains(b.config.Rooms, room):
		no = NewRefusal("not_permitted", "The operator of the bridge does not permit this room.")
	default:
		no = nil
		if err := b.system.Enter(ctx, room, Link{Created: time.UnixMilli(l.CreatedMs), Pending: l.State == pending}); err != nil && !errors.As(err, &no) {
			return reachError(err)
		}
	}
	report := &bridgev1.ReportBridgeLinkRequest{Conversation: l.Conversation, State: active}
	if no != nil {
		report.State, report.Reason, report.Text = refused, no.Reason, no.Text
	}
	if report.State != l.State {
		_, err := b.config.Rialto.ReportBridgeLink(ctx, connect.NewRequest(report))
		if err != nil && !isRefused(err) {
			return err
		}
		b.noteState(room, l, report.State)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.expelled, room)
	return nil
}

// noteState replaces a link by one with a state, unless it was changed meanwhile.
func (b *Bridge) noteState(room string, l *bridgev1.BridgeLink, state bridgev1.BridgeLinkState) {
	changed := proto.CloneOf(l)
	changed.State = state
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links[room] == l {
		b.links[room] = changed
	}
}
