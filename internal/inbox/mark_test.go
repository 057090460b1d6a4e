package inbox_test

import (
	"errors"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/inbox"
	"google.golang.org/protobuf/proto"
)

const (
	ann id.User         = 1
	bob id.User         = 2
	eve id.User         = 3
	duo id.Conversation = 10 // of ann and bob
	all id.Conversation = 11 // a group
)

// settled is a house with a one-to-one conversation of 5 entries and a group of 5.
func settled(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.join(t, all, ann, bob)
	for range 4 {
		h.send(t, bob, duo, false)
		h.send(t, bob, all, false)
	}
	return h
}

func (h *house) markSync(t *testing.T, u id.User, c id.Conversation, delivered, read uint64) *chatv1.ConversationState {
	t.Helper()
	st, err := h.MarkSync(t.Context(), u, c, delivered, read)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func same(t *testing.T, what string, got []told, want ...told) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: told %v, want %v", what, got, want)
		return
	}
	for i := range got {
		if got[i].to != want[i].to || !proto.Equal(got[i].event, want[i].event) {
			t.Errorf("%s: told %v, want %v", what, got[i], want[i])
		}
	}
}

func stateTo(u id.User, st *chatv1.ConversationState) told {
	return told{u, &chatv1.Event{Body: &chatv1.Event_Conversation{Conversation: st}}}
}

func markTo(u id.User, c id.Conversation, of id.User, delivered, read uint64) told {
	return told{u, &chatv1.Event{Body: &chatv1.Event_Mark{Mark: &chatv1.MemberMark{Conversation: uint64(c), User: uint64(of), DeliveredSeq: delivered, ReadSeq: read}}}}
}

func TestMarksMoveForwardAndAreTold(t *testing.T) {
	h := settled(t)
	st := h.markSync(t, ann, duo, 0, 3)
	want := &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 3, ReadCounted: 2}
	if !proto.Equal(st, want) {
		t.Errorf("got %v", st)
	}
	same(t, "read", h.events(t), stateTo(ann, want), markTo(bob, duo, ann, 3, 3))

	for _, m := range [][2]uint64{{0, 2}, {3, 3}, {1, 0}, {0, 0}} {
		if st := h.markSync(t, ann, duo, m[0], m[1]); !proto.Equal(st, want) {
			t.Errorf("after %v: %v", m, st)
		}
	}
	same(t, "nothing new", h.events(t))

	if st := h.markSync(t, ann, duo, 4, 0); !proto.Equal(st, want) {
		t.Errorf("delivered: %v", st)
	}
	same(t, "delivered", h.events(t), markTo(bob, duo, ann, 4, 3)) // nothing to one's own devices

	// Beyond the tail is the tail.
	want = &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 5, ReadCounted: 4}
	if st := h.markSync(t, ann, duo, 1<<63, 1<<64-1); !proto.Equal(st, want) {
		t.Errorf("far ahead: %v", st)
	}
	same(t, "far ahead", h.events(t), stateTo(ann, want), markTo(bob, duo, ann, 5, 5))

	// In a group only one's own devices are told.
	want = &chatv1.ConversationState{Conversation: uint64(all), ReadSeq: 2, ReadCounted: 1}
	h.markSync(t, ann, all, 4, 2)
	same(t, "group", h.events(t), stateTo(ann, want))
}

func TestOneWhoHidesTellsOnlyWhatIsDelivered(t *testing.T) {
	h := settled(t)
	h.hide(ann)
	st := h.markSync(t, ann, duo, 0, 3)
	same(t, "hidden", h.events(t), stateTo(ann, st), markTo(bob, duo, ann, 3, 0))
	c, err := h.GetConversation(t.Context(), bob, duo)
	if err != nil || c.PeerReadSeq != 0 || c.PeerDeliveredSeq != 3 {
		t.Errorf("got %v, %v", c, err)
	}
	h.markSync(t, ann, duo, 5, 0)
	same(t, "delivered", h.events(t), markTo(bob, duo, ann, 5, 0))
	st = h.markSync(t, ann, duo, 0, 5) // the moment of it is not told either
	same(t, "read", h.events(t), stateTo(ann, st))
}

// One of whom the other is kept apart by a block learns nothing of their reading: neither by an event nor from the list.
func TestMarksAreNotToldAcrossABlock(t *testing.T) {
	h := settled(t)
	h.markSync(t, ann, duo, 2, 2)
	h.events(t)
	h.rooms.setApart(duo, true)
	st := h.markSync(t, ann, duo, 4, 3)
	same(t, "blocked", h.events(t), stateTo(ann, st))
	for _, u := range []id.User{ann, bob} {
		if c, err := h.GetConversation(t.Context(), u, duo); err != nil || c.PeerDeliveredSeq != 0 || c.PeerReadSeq != 0 {
			t.Errorf("the list of %v: %v, %v", u, c, err)
		}
	}
	for _, unread := range []bool{false, true} {
		p, err := h.ListReaders(t.Context(), bob, &chatv1.ListReadersRequest{Conversation: uint64(duo), Seq: 3, Unread: unread})
		if err != nil || len(p.Users) == 1 != unread {
			t.Errorf("unread %v: %v, %v", unread, p, err)
		}
	}
	h.rooms.setApart(duo, false)
	h.markSync(t, ann, duo, 5, 0)
	same(t, "unblocked", h.events(t), markTo(bob, duo, ann, 5, 3))
}

func TestMarksOfThoseWhoMayNotRead(t *testing.T) {
	h := settled(t)
	if _, err := h.MarkSync(t.Context(), eve, duo, 1, 1); !errs.Is(err, errs.NotFound) {
		t.Errorf("a stranger: %v", err)
	}
	h.join(t, all, eve) // at 6
	h.send(t, bob, all, false)
	if st := h.markSync(t, eve, all, 3, 3); st.ReadSeq != 6 || st.ReadCounted != 4 {
		t.Errorf("before one joined: %v", st)
	}
	h.leave(t, all, eve) // at 8
	h.send(t, bob, all, false)
	if st := h.markSync(t, eve, all, 20, 20); st.ReadSeq != 8 || st.ReadCounted != 5 {
		t.Errorf("after one left: %v", st)
	}
}

// Marks that were only noted are written when the room stops; together, and the highest of each.
func TestMarksAreWrittenTogether(t *testing.T) {
	h := settled(t)
	for _, read := range []uint64{2, 4, 3} {
		h.Mark(ann, duo, 5, read)
	}
	h.Mark(eve, duo, 5, 5) // a stranger's
	h.Mark(bob, all, 5, 5)
	h.run(t)()
	got := h.events(t)
	st := &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 4, ReadCounted: 3}
	var ofAnn, ofBob []told
	for _, e := range got {
		if e.event.GetConversation().GetConversation() == uint64(all) {
			ofBob = append(ofBob, e)
		} else {
			ofAnn = append(ofAnn, e)
		}
	}
	same(t, "ann", ofAnn, stateTo(ann, st), markTo(bob, duo, ann, 5, 4))
	same(t, "bob", ofBob, stateTo(bob, &chatv1.ConversationState{Conversation: uint64(all), ReadSeq: 5, ReadCounted: 4}))
}

// A mark is not lost when the stores are away for a while.
func TestAMarkIsTriedAgain(t *testing.T) {
	h := settled(t)
	h.rooms.fail(errs.New(errs.Unavailable, "away", "try again"))
	h.Mark(ann, duo, 0, 4)
	h.run(t)()
	same(t, "while away", h.events(t))
	h.rooms.fail(nil)
	h.run(t)()
	if got := h.events(t); len(got) != 2 || got[0].event.GetConversation().GetReadSeq() != 4 {
		t.Errorf("afterwards: %v", got)
	}
}

func TestConfigure(t *testing.T) {
	h := settled(t)
	h.markSync(t, ann, duo, 0, 3)
	h.send(t, ann, duo, false) // 6: one has read to there
	h.events(t)
	configure := func(r *chatv1.ConfigureRequest) *chatv1.ConversationState {
		t.Helper()
		r.Conversation = uint64(duo)
		st, err := h.Configure(t.Context(), ann, r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "configured", h.events(t), stateTo(ann, st))
		return st
	}
	want := &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 6, ReadCounted: 5, Pinned: true}
	check := func(st *chatv1.ConversationState) {
		t.Helper()
		if !proto.Equal(st, want) {
			t.Errorf("got %v, want %v", st, want)
		}
		if c, err := h.GetConversation(t.Context(), ann, duo); err != nil || !proto.Equal(c.State, want) {
			t.Errorf("got %v, %v", c, err)
		}
	}
	check(configure(&chatv1.ConfigureRequest{Pinned: proto.Bool(true)}))
	want.Muted, want.Draft = true, "half a thought 半"
	check(configure(&chatv1.ConfigureRequest{Muted: proto.Bool(true), Draft: &want.Draft}))
	want.Pinned, want.Archived = false, true
	check(configure(&chatv1.ConfigureRequest{Pinned: proto.Bool(false), Archived: proto.Bool(true)}))
	want.Draft = strings.Repeat("字", 100_000)
	check(configure(&chatv1.ConfigureRequest{Draft: &want.Draft}))
	want.Draft = ""
	check(configure(&chatv1.ConfigureRequest{Draft: &want.Draft}))

	for _, draft := range []string{strings.Repeat("字", 100_001), "\xff", "a\x00b"} {
		if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: uint64(duo), Draft: &draft}); errs.Of(err).Reason != "bad_draft" {
			t.Errorf("a draft of %d bytes: %v", len(draft), err)
		}
	}
	if _, err := h.Configure(t.Context(), eve, &chatv1.ConfigureRequest{Conversation: uint64(duo), Pinned: proto.Bool(true)}); !errs.Is(err, errs.NotFound) {
		t.Errorf("a stranger: %v", err)
	}
	same(t, "refused", h.events(t))
}

// What is shown of a conversation is the same in answers, lists and events: joining is the first that one has read.
func TestANewMemberHasReadTheJoining(t *testing.T) {
	h := settled(t)
	h.join(t, all, eve)
	h.events(t)
	st, err := h.Configure(t.Context(), eve, &chatv1.ConfigureRequest{Conversation: uint64(all), Muted: proto.Bool(true)})
	if err != nil || st.ReadSeq != 6 || st.ReadCounted != 4 {
		t.Errorf("got %v, %v", st, err)
	}
	same(t, "configured", h.events(t), stateTo(eve, st))
}

func TestReaders(t *testing.T) {
	h := newHouse(t, true, inbox.Config{})
	const members = 7 // user 1 sends
	users := make([]id.User, members)
	for i := range users {
		users[i] = id.User(i + 1)
	}
	h.join(t, all, users...)
	seq := h.send(t, 1, all, false)
	h.join(t, all, 8) // later
	h.markSync(t, 2, all, 0, seq)
	h.markSync(t, 3, all, seq, 0)
	h.send(t, 4, all, false) // so has read
	h.hide(5)
	h.markSync(t, 5, all, 0, seq)
	h.markSync(t, 8, all, 0, seq+5)

	list := func(unread bool, limit uint32) (users []uint64) {
		t.Helper()
		for page := ""; ; {
			p, err := h.ListReaders(t.Context(), 1, &chatv1.ListReadersRequest{Conversation: uint64(all), Seq: seq, Unread: unread, Limit: limit, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Users) > int(limit) {
				t.Errorf("a page of %d has %d", limit, len(p.Users))
			}
			users = append(users, p.Users...)
			if page = p.Next; page == "" {
				return users
			}
		}
	}
	for limit := range uint32(8) {
		limit++
		if got := list(false, limit); !equal(got, 2, 4) {
			t.Errorf("read, by %d: %v", limit, got)
		}
		if got := list(true, limit); !equal(got, 3, 5, 6, 7) {
			t.Errorf("unread, by %d: %v", limit, got)
		}
	}

	refused := func(u id.User, r *chatv1.ListReadersRequest, kind errs.Kind) {
		t.Helper()
		r.Conversation = uint64(all)
		if _, err := h.ListReaders(t.Context(), u, r); !errs.Is(err, kind) {
			t.Errorf("%v of user %v: %v", r, u, err)
		}
	}
	refused(2, &chatv1.ListReadersRequest{Seq: seq}, errs.Denied)
	refused(8, &chatv1.ListReadersRequest{Seq: seq}, errs.NotFound) // joined later
	refused(9, &chatv1.ListReadersRequest{Seq: seq}, errs.NotFound)
	for _, beyond := range []uint64{99, 1 << 63, 1<<64 - 1} {
		refused(1, &chatv1.ListReadersRequest{Seq: beyond}, errs.NotFound)
	}
	refused(1, &chatv1.ListReadersRequest{}, errs.NotFound)
	refused(1, &chatv1.ListReadersRequest{Seq: seq, Page: "x"}, errs.Invalid)
}

func equal(got []uint64, want ...uint64) bool {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return false
		}
	}
	return len(got) == len(want)
}

// A failing neighbour is an error to those who wait, not an empty list.
func TestFailuresAreTold(t *testing.T) {
	h := settled(t)
	away := errors.New("away")
	h.rooms.fail(away)
	if _, err := h.ListConversations(t.Context(), ann, &chatv1.ListConversationsRequest{}); !errors.Is(err, away) {
		t.Errorf("the list: %v", err)
	}
	if _, err := h.MarkSync(t.Context(), ann, duo, 1, 1); !errors.Is(err, away) {
		t.Errorf("a mark: %v", err)
	}
}
