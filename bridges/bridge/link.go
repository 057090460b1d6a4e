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
	for _, room := range slices.Sorted(maps.Keys(links)) {
		err = errors.Join(err, b.enter(ctx, room, links[room]))
	}
	for _, l := range displaced {
		err = errors.Join(err, b.claim(ctx, l))
	}
	return err
}

// claim reports a link whose room another link has. Rialto compares rooms, and refuses it unless the other group has given the room up: then the links are read again. As long as it is not known whether
// the room admits the bridge, the link waits.
func (b *Bridge) claim(ctx context.Context, l *bridgev1.BridgeLink) error {
	room := b.system.Normalize(l.Address)
	b.mu.Lock()
	other := b.links.byRoom[room]
	b.mu.Unlock()
	if l.State == refused || other == nil || other.State != active {
		return nil
	}
	var refusal *Refusal
	if other.Room == "" { // this Rialto does not compare rooms
		refusal = NewRefusal("room_taken", "Another group is linked with this room.")
	}
	state, err := b.reportState(ctx, l, room, refusal)
	if state == active {
		b.Changed()
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
	maps.DeleteFunc(b.repetitions, func(conversation uint64, _ repetition) bool { return !links.conversations[conversation] })
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
	// conversations of all of them.
	conversations map[uint64]bool
}

// add adds a link of a room. Rialto compares rooms only once the bridge has reported them, so several groups may be linked with one.
func (t *linkTable) add(room string, l *bridgev1.BridgeLink) {
	t.conversations[l.Conversation] = true
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
	t := linkTable{byRoom: map[string]*bridgev1.BridgeLink{}, roomOf: map[uint64]string{}, conversations: map[uint64]bool{}}
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
	b.mu.Lock()
	known := b.expelled[room]
	b.mu.Unlock()
	refusal := b.refusalOf(room, l)
	if refusal == nil {
		if err := b.system.Enter(ctx, room, Link{Created: time.UnixMilli(l.CreatedMs), Pending: l.State == pending}); err != nil && !errors.As(err, &refusal) {
			return reachError(err)
		}
	}
	if _, err := b.reportState(ctx, l, room, refusal); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expelled[room] == known { // otherwise the room has removed the bridge since, which is reported next
		delete(b.expelled, room)
	}
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
	case len(room) > maxRoom:
		return NewRefusal("bad_address", "The address of this room is too long.")
	case !slices.ContainsFunc(b.config.Rooms, func(permitted string) bool { return permitted == "*" || b.system.Normalize(permitted) == room }):
		return NewRefusal("not_permitted", "The operator of the bridge does not permit this room.")
	}
	return nil
}

// reportState reports that a link is refused, or active with its room without a refusal, if that is new. It returns the state that the link has then.
func (b *Bridge) reportState(ctx context.Context, l *bridgev1.BridgeLink, room string, refusal *Refusal) (bridgev1.BridgeLinkState, error) {
	report := &bridgev1.ReportBridgeLinkRequest{Conversation: l.Conversation, State: active, Room: room}
	if refusal != nil {
		report.State, report.Reason, report.Text, report.Room = refused, refusal.Reason, refusal.Text, ""
	}
	if report.State == l.State && report.Room == l.Room || !b.reportIsDue(report) {
		return l.State, nil
	}
	changed := proto.CloneOf(l)
	changed.State, changed.Room = report.State, report.Room
	err := withoutBadText(&report.Text, func() error {
		answer, err := b.config.Rialto.ReportBridgeLink(ctx, connect.NewRequest(report))
		if err == nil { // it is refused if another group has the room
			changed.State, changed.Room = answer.Msg.State, answer.Msg.Room
		}
		return err
	})
	b.noteReport(report, changed, err)
	if connect.CodeOf(err) == connect.CodeUnimplemented { // noteReport has logged it
		return l.State, nil
	}
	if err != nil && !isRefused(err) {
		return l.State, err
	}
	b.replaceLink(l, changed)
	return changed.State, nil
}

// Delays until a report is repeated that Rialto did not take as a whole.
const firstRepeat, longestRepeat = time.Minute, time.Hour

// repetition is a report that Rialto did not take as a whole: an older one knows neither rooms nor, before that, the call.
type repetition struct {
	text  string // of the report
	next  time.Time
	delay time.Duration
}

// reportIsDue reports whether a link is reported now. A report that Rialto did not take as a whole is repeated after growing delays.
func (b *Bridge) reportIsDue(report *bridgev1.ReportBridgeLinkRequest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, is := b.repetitions[report.Conversation]
	return !is || r.text != report.String() || !time.Now().Before(r.next)
}

// noteReport notes what Rialto made of a report.
func (b *Bridge) noteReport(report *bridgev1.ReportBridgeLinkRequest, answer *bridgev1.BridgeLink, err error) {
	unknown := connect.CodeOf(err) == connect.CodeUnimplemented
	b.mu.Lock()
	defer b.mu.Unlock()
	if !unknown && (err != nil || answer.State != report.State || answer.Room == report.Room) {
		delete(b.repetitions, report.Conversation)
		return
	}
	r := b.repetitions[report.Conversation]
	if r.text != report.String() {
		r = repetition{text: report.String(), delay: firstRepeat / 2}
		b.config.Logger.Warn("Rialto is older than this bridge, and does not accept all fields of a link's report; upgrade Rialto", "conversation", report.Conversation)
	}
	r.delay = min(2*r.delay, longestRepeat)
	r.next = time.Now().Add(r.delay)
	b.repetitions[report.Conversation] = r
}

// replaceLink replaces a link, unless it was changed or displaced meanwhile.
func (b *Bridge) replaceLink(l, changed *bridgev1.BridgeLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room, is := b.links.roomOf[l.Conversation]; is && b.links.byRoom[room] == l {
		b.links.byRoom[room] = changed
	}
}
