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
		case <-time.After(linkCheckInterval):
		}
	}
}

// reconcile compares the links with the rooms that the bridge is in. A room that cannot be entered now holds up no other one.
func (b *Bridge) reconcile(ctx context.Context) error {
	if err := b.refresh(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	links, displaced := maps.Clone(b.links.byRoom), b.links.displaced
	b.mu.Unlock()
	var err error
	for _, l := range displaced {
		err = errors.Join(err, b.reportState(ctx, l, NewRefusal("room_taken", "Another group is linked with this room.")))
	}
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
	b.links, b.linksLoaded = links, true
	b.mu.Unlock()
	for room := range before.byRoom {
		if links.byRoom[room] == nil {
			b.system.Leave(room)
		}
	}
	return nil
}

// linkTable has the links of the bridge, one for each room. Links are replaced, never changed.
type linkTable struct {
	byRoom    map[string]*bridgev1.BridgeLink
	roomOf    map[uint64]string      // by conversation
	displaced []*bridgev1.BridgeLink // another link has their room
}

// add adds a link of a room. Rialto compares addresses by their bytes, so several groups may be linked with one room.
func (t *linkTable) add(room string, l *bridgev1.BridgeLink) {
	if other := t.byRoom[room]; other != nil {
		if hasPriority(other, l) {
			t.displaced = append(t.displaced, l)
			return
		}
		t.displaced = append(t.displaced, other)
		delete(t.roomOf, other.Conversation)
	}
	t.byRoom[room], t.roomOf[l.Conversation] = l, room
}

// hasPriority reports whether the first of two links has their room: the one that is active, or else the one that was not refused, or else the older one.
func hasPriority(first, second *bridgev1.BridgeLink) bool {
	for _, state := range []bridgev1.BridgeLinkState{active, pending} {
		if (first.State == state) != (second.State == state) {
			return first.State == state
		}
	}
	return first.CreatedMs <= second.CreatedMs
}

func (b *Bridge) readLinks(ctx context.Context) (linkTable, error) {
	t := linkTable{byRoom: map[string]*bridgev1.BridgeLink{}, roomOf: map[uint64]string{}}
	for after, more := uint64(0), true; more; {
		page, err := b.config.Rialto.ListLinkedConversations(ctx, connect.NewRequest(&bridgev1.ListLinkedConversationsRequest{Limit: 200, After: after}))
		if err != nil {
			return t, err
		}
		for _, l := range page.Msg.Links {
			after = l.Conversation
			t.add(b.system.Normalize(l.Address), l)
		}
		more = page.Msg.More && len(page.Msg.Links) > 0
	}
	return t, nil
}

// linkOf returns the link of a conversation, and its room.
func (b *Bridge) linkOf(conversation uint64) (string, *bridgev1.BridgeLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room, is := b.links.roomOf[conversation]
	if !is {
		return "", nil
	}
	return room, b.links.byRoom[room]
}

// enter enters the room of a link, and reports the answer of the system if that is new.
func (b *Bridge) enter(ctx context.Context, room string, l *bridgev1.BridgeLink) error {
	if l.State == refused {
		b.system.Leave(room)
		return nil
	}
	refusal := b.refusalOf(room, l)
	if refusal == nil {
		if err := b.system.Enter(ctx, room, Link{Created: time.UnixMilli(l.CreatedMs), Pending: l.State == pending}); err != nil && !errors.As(err, &refusal) {
			return reachError(err)
		}
	}
	if err := b.reportState(ctx, l, refusal); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.expelled, room)
	return nil
}

// refusalOf returns why the bridge does not enter a room; nil: it does.
func (b *Bridge) refusalOf(room string, l *bridgev1.BridgeLink) *Refusal {
	b.mu.Lock()
	expelled := b.expelled[room]
	b.mu.Unlock()
	switch {
	case expelled != nil && l.State == active:
		return expelled
	case !slices.Contains(b.config.Rooms, "*") && !slices.Contains(b.config.Rooms, room):
		return NewRefusal("not_permitted", "The operator of the bridge does not permit this room.")
	}
	return nil
}

// reportState reports that a link is refused, or active without a refusal, if that is new.
func (b *Bridge) reportState(ctx context.Context, l *bridgev1.BridgeLink, refusal *Refusal) error {
	report := &bridgev1.ReportBridgeLinkRequest{Conversation: l.Conversation, State: active}
	if refusal != nil {
		report.State, report.Reason, report.Text = refused, refusal.Reason, refusal.Text
	}
	if report.State == l.State {
		return nil
	}
	err := withoutBadText(&report.Text, func() error {
		_, err := b.config.Rialto.ReportBridgeLink(ctx, connect.NewRequest(report))
		return err
	})
	if err != nil && !isRefused(err) {
		return err
	}
	b.noteState(l, report.State)
	return nil
}

// noteState replaces a link by one with a state, unless it was changed or displaced meanwhile.
func (b *Bridge) noteState(l *bridgev1.BridgeLink, state bridgev1.BridgeLinkState) {
	changed := proto.CloneOf(l)
	changed.State = state
	b.mu.Lock()
	defer b.mu.Unlock()
	if room, is := b.links.roomOf[l.Conversation]; is && b.links.byRoom[room] == l {
		b.links.byRoom[room] = changed
	}
}
