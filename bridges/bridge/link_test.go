package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
)

// fakeLinks is a Rialto that has links only. It is used by one goroutine.
type fakeLinks struct {
	bridgev1connect.BridgeServiceClient
	links   []*bridgev1.BridgeLink // by conversation
	reports []string               // what links became
	old     bool                   // it does not know rooms
	unknown bool                   // it does not know reports
	during  func()                 // is called once while a report is stored
	without map[uint64]bool        // groups that have removed the bot: a link of another group takes their room
}

func (f *fakeLinks) ListLinkedConversations(context.Context, *connect.Request[bridgev1.ListLinkedConversationsRequest]) (*connect.Response[bridgev1.ListLinkedConversationsResponse], error) {
	return connect.NewResponse(&bridgev1.ListLinkedConversationsResponse{Links: slices.Clone(f.links)}), nil
}

func (f *fakeLinks) ReportBridgeLink(_ context.Context, r *connect.Request[bridgev1.ReportBridgeLinkRequest]) (*connect.Response[bridgev1.BridgeLink], error) {
	state, reason, room := r.Msg.State, r.Msg.Reason, r.Msg.Room
	if f.old {
		room = ""
	}
	if room != "" && slices.ContainsFunc(f.links, func(l *bridgev1.BridgeLink) bool {
		return l.Conversation != r.Msg.Conversation && l.Room == room && !f.without[l.Conversation]
	}) {
		state, reason, room = refused, "room_taken", ""
	}
	if f.during != nil {
		f.during()
		f.during = nil
	}
	if f.unknown {
		f.reports = append(f.reports, fmt.Sprint(r.Msg.Conversation, " unknown"))
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("there is no such call"))
	}
	f.reports = append(f.reports, strings.TrimSpace(fmt.Sprint(r.Msg.Conversation, " ", strings.TrimPrefix(state.String(), "BRIDGE_LINK_STATE_"), " ", reason)))
	f.links = slices.DeleteFunc(f.links, func(l *bridgev1.BridgeLink) bool {
		return room != "" && l.Conversation != r.Msg.Conversation && l.Room == room
	})
	return connect.NewResponse(f.put(r.Msg.Conversation, state, room)), nil
}

// put replaces the state and the room of a link.
func (f *fakeLinks) put(conversation uint64, state bridgev1.BridgeLinkState, room string) *bridgev1.BridgeLink {
	n := slices.IndexFunc(f.links, func(l *bridgev1.BridgeLink) bool { return l.Conversation == conversation })
	was := f.links[n]
	f.links[n] = &bridgev1.BridgeLink{Conversation: conversation, Address: was.Address, CreatedMs: was.CreatedMs, State: state, Room: room}
	return f.links[n]
}

// fakeSystem lets the bridge into each room, and does not tell upper from lower case.
type fakeSystem struct {
	System
	rooms []string // that the bridge is in
}

func (*fakeSystem) Normalize(address string) string { return strings.ToLower(address) }

func (s *fakeSystem) Enter(_ context.Context, room string, _ Link) error {
	if !slices.Contains(s.rooms, room) {
		s.rooms = append(s.rooms, room)
	}
	return nil
}

func (s *fakeSystem) Leave(room string) {
	s.rooms = slices.DeleteFunc(s.rooms, func(r string) bool { return r == room })
}

// A room is linked with one group, whichever spellings of its address the groups use. The active link has it, or else the first one that was not refused, and the others are told why not.
func TestSpellingsOfARoom(t *testing.T) {
	link := func(conversation uint64, address string, createdMs int64, state bridgev1.BridgeLinkState) *bridgev1.BridgeLink {
		return &bridgev1.BridgeLink{Conversation: conversation, Address: address, CreatedMs: createdMs, State: state}
	}
	f := &fakeLinks{links: []*bridgev1.BridgeLink{link(1, "#RIALTO", 30, pending), link(2, "#rialto", 10, active), link(3, "#Rialto", 20, pending), link(4, "#other", 40, pending)}}
	system := &fakeSystem{}
	b, err := New(Config{Rialto: &rialto.Bridge{BridgeServiceClient: f}, Rooms: []string{"*"}, Spool: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b.system = system
	expect := func(reports ...string) {
		t.Helper()
		f.reports = nil
		for range 2 { // the second time there is nothing new
			if err := b.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if slices.Sort(f.reports); !slices.Equal(f.reports, reports) {
			t.Errorf("the links are reported as %q, want %q", f.reports, reports)
		}
	}
	expect("1 REFUSED room_taken", "2 ACTIVE", "3 REFUSED room_taken", "4 ACTIVE")
	for conversation, want := range map[uint64]string{1: "", 2: "#rialto", 3: "", 4: "#other", 5: ""} {
		if room, l := b.linkOf(conversation); room != want || (l != nil) != (want != "") || l != nil && l.State != active {
			t.Errorf("group %d is linked with %q as %v, want %q", conversation, room, l, want)
		}
	}
	b.Expelled("#rialto", NewRefusal("kicked", ""))
	expect("2 REFUSED kicked")
	f.put(1, pending, "") // an admin links the group again
	expect("1 ACTIVE")
	if room, _ := b.linkOf(2); room != "" || !slices.Contains(system.rooms, "#rialto") {
		t.Errorf("the group from before is linked with %q, and the bridge is in %q", room, system.rooms)
	}
	f.links = append(f.links, link(5, "#rialtO", 0, pending)) // it is older, and comes later
	expect("5 REFUSED room_taken")
	f.put(5, pending, "")
	f.without = map[uint64]bool{1: true}
	expect("5 ACTIVE")
	if room, _ := b.linkOf(5); room != "#rialto" {
		t.Errorf("after the other group has given the room up, the new one is linked with %q", room)
	}
	f.old = true
	f.links = append(f.links, link(6, "#RiAlto", 99, pending))
	f.put(5, active, "")
	expect("5 ACTIVE", "6 REFUSED room_taken")
	f.links = nil
	expect()
	if len(system.rooms) != 0 {
		t.Errorf("without links, the bridge is in %q", system.rooms)
	}
}

// A Rialto that is older than the bridge, and knows neither rooms nor reports, is told of a link once, and then after growing delays. A new state is reported at once.
func TestAnOlderRialtoIsNotToldAgainAndAgain(t *testing.T) {
	for what, f := range map[string]*fakeLinks{"ACTIVE": {old: true}, "unknown": {unknown: true}} {
		synctest.Test(t, func(t *testing.T) {
			f.links = []*bridgev1.BridgeLink{{Conversation: 1, Address: "#rialto", State: pending}}
			b, err := New(Config{Rialto: &rialto.Bridge{BridgeServiceClient: f}, Rooms: []string{"*"}, Spool: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			b.system = &fakeSystem{}
			var at []time.Duration
			began := time.Now()
			for time.Since(began) < 5*time.Hour {
				f.reports = nil
				if err := b.reconcile(t.Context()); err != nil {
					t.Fatal(err)
				}
				if len(f.reports) > 0 {
					at = append(at, time.Since(began))
				}
				time.Sleep(linkCheckInterval)
			}
			if want := []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute, 15 * time.Minute, 31 * time.Minute, 63 * time.Minute, 123 * time.Minute, 183 * time.Minute, 243 * time.Minute}; !slices.Equal(at, want) {
				t.Errorf("%s: reports are at %v, want %v", what, at, want)
			}
			b.Expelled("#rialto", NewRefusal("kicked", ""))
			f.put(1, active, "")
			if err := b.reconcile(t.Context()); err != nil || len(f.reports) != 1 {
				t.Errorf("%s: once the room has removed the bridge, the reports are %q (%v)", what, f.reports, err)
			}
		})
	}
}

// A room that removes the bridge while its link is reported active has removed it: the link is refused next.
func TestRemovedWhileTheLinkIsReported(t *testing.T) {
	f := &fakeLinks{links: []*bridgev1.BridgeLink{{Conversation: 1, Address: "#rialto", State: pending}}}
	b, err := New(Config{Rialto: &rialto.Bridge{BridgeServiceClient: f}, Rooms: []string{"*"}, Spool: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b.system = &fakeSystem{}
	f.during = func() { b.Expelled("#rialto", NewRefusal("kicked", "")) }
	for range 3 {
		if err := b.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"1 ACTIVE", "1 REFUSED kicked"}; !slices.Equal(f.reports, want) {
		t.Errorf("the link is reported as %q, want %q", f.reports, want)
	}
}
