package inbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	ann id.User         = 1
	bob id.User         = 2
	eve id.User         = 3
	duo id.Conversation = 10 // of ann and bob
	all id.Conversation = 11 // a group
)

// newMarkHarness returns a harness with a one-to-one conversation of 5 entries and a group of 5.
func newMarkHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.join(t, all, ann, bob)
	for range 4 {
		h.send(t, bob, duo, false)
		h.send(t, bob, all, false)
	}
	return h
}

func (h *harness) markSync(t *testing.T, u id.User, c id.Conversation, delivered, read uint64) *chatv1.ConversationState {
	t.Helper()
	st, err := h.MarkNow(t.Context(), u, c, delivered, read)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func same(t *testing.T, what string, got []outboxEvent, want ...outboxEvent) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: notifications are %v, want %v", what, got, want)
		return
	}
	for i := range got {
		if got[i].to != want[i].to || !proto.Equal(got[i].event, want[i].event) {
			t.Errorf("%s: notification is %v, want %v", what, got[i], want[i])
		}
	}
}

func stateTo(u id.User, st *chatv1.ConversationState) outboxEvent {
	return outboxEvent{u, &chatv1.Event{Body: &chatv1.Event_Conversation{Conversation: st}}}
}

func markTo(u id.User, c id.Conversation, of id.User, delivered, read uint64) outboxEvent {
	return outboxEvent{u, &chatv1.Event{Body: &chatv1.Event_Mark{Mark: &chatv1.MemberMark{Conversation: uint64(c), User: uint64(of), DeliveredSeq: delivered, ReadSeq: read}}}}
}

func TestCursorsMoveForwardAndNotify(t *testing.T) {
	h := newMarkHarness(t)
	st := h.markSync(t, ann, duo, 0, 3)
	want := &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 3, ReadCounted: 2}
	if !proto.Equal(st, want) {
		t.Errorf("the state is %v", st)
	}
	same(t, "read", h.events(t), stateTo(ann, want), markTo(bob, duo, ann, 3, 3))

	for _, m := range [][2]uint64{{0, 2}, {3, 3}, {1, 0}, {0, 0}} {
		if st := h.markSync(t, ann, duo, m[0], m[1]); !proto.Equal(st, want) {
			t.Errorf("after %v the state is %v", m, st)
		}
	}
	same(t, "nothing new", h.events(t))

	if st := h.markSync(t, ann, duo, 4, 0); !proto.Equal(st, want) {
		t.Errorf("after a delivery the state is %v", st)
	}
	same(t, "delivered", h.events(t), markTo(bob, duo, ann, 4, 3)) // the user's own devices are not notified

	// A cursor beyond the tail is set to the tail.
	want = &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 5, ReadCounted: 4}
	if st := h.markSync(t, ann, duo, 1<<63, 1<<64-1); !proto.Equal(st, want) {
		t.Errorf("after a cursor beyond the tail the state is %v", st)
	}
	same(t, "far ahead", h.events(t), stateTo(ann, want), markTo(bob, duo, ann, 5, 5))

	// In a group only the user's own devices are notified.
	want = &chatv1.ConversationState{Conversation: uint64(all), ReadSeq: 2, ReadCounted: 1}
	h.markSync(t, ann, all, 4, 2)
	same(t, "group", h.events(t), stateTo(ann, want))
}

func TestHidesReadNotifiesDeliveryOnly(t *testing.T) {
	h := newMarkHarness(t)
	h.hide(ann)
	st := h.markSync(t, ann, duo, 0, 3)
	same(t, "hidden", h.events(t), stateTo(ann, st), markTo(bob, duo, ann, 3, 0))
	c, err := h.GetConversation(t.Context(), bob, duo)
	if err != nil || c.PeerReadSeq != 0 || c.PeerDeliveredSeq != 3 {
		t.Errorf("the conversation is %v (%v)", c, err)
	}
	h.markSync(t, ann, duo, 5, 0)
	same(t, "delivered", h.events(t), markTo(bob, duo, ann, 5, 0))
	st = h.markSync(t, ann, duo, 0, 5) // the time is not sent either
	same(t, "read", h.events(t), stateTo(ann, st))
}

// Across a block neither user sees the other's read cursor, by events or in the list.
func TestCursorsAreHiddenAcrossBlock(t *testing.T) {
	h := newMarkHarness(t)
	h.markSync(t, ann, duo, 2, 2)
	h.events(t)
	h.conversations.setBlocked(duo, true)
	st := h.markSync(t, ann, duo, 4, 3)
	same(t, "blocked", h.events(t), stateTo(ann, st))
	for _, u := range []id.User{ann, bob} {
		if c, err := h.GetConversation(t.Context(), u, duo); err != nil || c.PeerDeliveredSeq != 0 || c.PeerReadSeq != 0 {
			t.Errorf("the conversation of %v is %v (%v)", u, c, err)
		}
	}
	for _, unread := range []bool{false, true} {
		p, err := h.ListReaders(t.Context(), bob, &chatv1.ListReadersRequest{Conversation: uint64(duo), Seq: 3, Unread: unread})
		if err != nil || len(p.Users) == 1 != unread {
			t.Errorf("readers with unread %v: %v (%v)", unread, p, err)
		}
	}
	h.conversations.setBlocked(duo, false)
	h.markSync(t, ann, duo, 5, 0)
	same(t, "unblocked", h.events(t), markTo(bob, duo, ann, 5, 3))
}

func TestCursorsWithoutAccessAreDropped(t *testing.T) {
	h := newMarkHarness(t)
	if _, err := h.MarkNow(t.Context(), eve, duo, 1, 1); !errs.Is(err, errs.NotFound) {
		t.Errorf("a cursor of a non-member returned %v", err)
	}
	h.join(t, all, eve) // at 6
	h.send(t, bob, all, false)
	if st := h.markSync(t, eve, all, 3, 3); st.ReadSeq != 6 || st.ReadCounted != 4 {
		t.Errorf("a cursor before the join entry yields %v", st)
	}
	h.leave(t, all, eve) // at 8
	h.send(t, bob, all, false)
	if st := h.markSync(t, eve, all, 20, 20); st.ReadSeq != 8 || st.ReadCounted != 5 {
		t.Errorf("a cursor after the leave entry yields %v", st)
	}
}

// Pending cursors are written when the service stops, in one batch, with the highest value of each.
func TestCursorsAreWrittenInBatches(t *testing.T) {
	h := newMarkHarness(t)
	for _, read := range []uint64{2, 4, 3} {
		h.Mark(ann, duo, 5, read)
	}
	h.Mark(eve, duo, 5, 5) // of a non-member
	h.Mark(bob, all, 5, 5)
	h.run(t)()
	got := h.events(t)
	st := &chatv1.ConversationState{Conversation: uint64(duo), ReadSeq: 4, ReadCounted: 3}
	var ofAnn, ofBob []outboxEvent
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

// A cursor is not lost if the stores are unavailable for a while.
func TestCursorIsRetried(t *testing.T) {
	h := newMarkHarness(t)
	h.conversations.fail(errs.New(errs.Unavailable, "unavailable", "try again"))
	h.Mark(ann, duo, 0, 4)
	h.run(t)()
	same(t, "while unavailable", h.events(t))
	h.conversations.fail(nil)
	h.run(t)()
	if got := h.events(t); len(got) != 2 || got[0].event.GetConversation().GetReadSeq() != 4 {
		t.Errorf("after the retry the state is %v", got)
	}
}

func TestConfigure(t *testing.T) {
	h := newMarkHarness(t)
	h.markSync(t, ann, duo, 0, 3)
	h.send(t, ann, duo, false) // 6: sending counts as reading up to there
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
			t.Errorf("the state is %v, want %v", st, want)
		}
		if c, err := h.GetConversation(t.Context(), ann, duo); err != nil || !proto.Equal(c.State, want) {
			t.Errorf("the conversation is %v (%v)", c, err)
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
			t.Errorf("a draft of %d bytes returned %v", len(draft), err)
		}
	}
	if _, err := h.Configure(t.Context(), eve, &chatv1.ConfigureRequest{Conversation: uint64(duo), Pinned: proto.Bool(true)}); !errs.Is(err, errs.NotFound) {
		t.Errorf("Configure by a non-member returned %v", err)
	}
	same(t, "refused", h.events(t))
}

// Answers, lists and events agree on the read cursor: it starts at the join entry.
func TestJoinEntryIsRead(t *testing.T) {
	h := newMarkHarness(t)
	h.join(t, all, eve)
	h.events(t)
	st, err := h.Configure(t.Context(), eve, &chatv1.ConfigureRequest{Conversation: uint64(all), Muted: proto.Bool(true)})
	if err != nil || st.ReadSeq != 6 || st.ReadCounted != 4 {
		t.Errorf("the state is %v (%v)", st, err)
	}
	same(t, "configured", h.events(t), stateTo(eve, st))
}

func TestReaders(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
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
	h.send(t, 4, all, false) // counts as having read
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
				t.Errorf("a page with limit %d has %d users", limit, len(p.Users))
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
			t.Errorf("the readers in pages of %d are %v", limit, got)
		}
		if got := list(true, limit); !equal(got, 3, 5, 6, 7) {
			t.Errorf("the members who have not read, in pages of %d, are %v", limit, got)
		}
	}

	refused := func(u id.User, r *chatv1.ListReadersRequest, kind errs.Kind) {
		t.Helper()
		r.Conversation = uint64(all)
		if _, err := h.ListReaders(t.Context(), u, r); !errs.Is(err, kind) {
			t.Errorf("%v by user %v returned %v", r, u, err)
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

// If package chat fails, callers get an error, not an empty list.
func TestFailuresAreReturned(t *testing.T) {
	h := newMarkHarness(t)
	away := errors.New("away")
	h.conversations.fail(away)
	if _, err := h.ListConversations(t.Context(), ann, &chatv1.ListConversationsRequest{}); !errors.Is(err, away) {
		t.Errorf("ListConversations returned %v", err)
	}
	if _, err := h.MarkNow(t.Context(), ann, duo, 1, 1); !errors.Is(err, away) {
		t.Errorf("MarkNow returned %v", err)
	}
}

// A conversation that its user marked as unread stays so until the read cursor moves, and counts nothing.
func TestMarkedUnreadUntilItIsRead(t *testing.T) {
	h := newMarkHarness(t)
	h.markSync(t, ann, all, 5, 4)
	if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: uint64(all), MarkedUnread: proto.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	want := func(marked bool, unread uint64) {
		t.Helper()
		for _, c := range h.list(t, ann, 10, "").Conversations {
			if c.Id == uint64(all) && (c.State.MarkedUnread != marked || c.Unread != unread) {
				t.Errorf("the conversation has %d unread messages, and is marked: %v; want %d, %v", c.Unread, c.State.MarkedUnread, unread, marked)
			}
		}
		if c, err := h.GetConversation(t.Context(), ann, all); err != nil || c.State.MarkedUnread != marked {
			t.Errorf("the conversation alone has the state %v, %v", c.GetState(), err)
		}
	}
	want(true, 1)
	if st := h.markSync(t, ann, all, 5, 4); !st.MarkedUnread { // as a device repeats it after a reconnect
		t.Error("the mark is cleared although the cursor did not move")
	}
	if _, err := h.Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: uint64(all), Muted: proto.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	want(true, 1)
	if st := h.markSync(t, ann, all, 5, 5); st.MarkedUnread {
		t.Error("the mark is there although the conversation was read")
	}
	want(false, 0)
	if c, err := h.GetConversation(t.Context(), bob, all); err != nil || c.State.MarkedUnread {
		t.Errorf("the state of another user is %v, %v", c.GetState(), err)
	}
}
