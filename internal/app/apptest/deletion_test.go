package apptest_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// conversations returns the chats of a user's list, and the badge.
func conversations(t *testing.T, p *apptest.Person) ([]*chatv1.Conversation, uint64) {
	t.Helper()
	list, err := p.Server.Chat().ListConversations(t.Context(), apptest.As(p, &chatv1.ListConversationsRequest{}))
	must(t, err)
	return list.Msg.Conversations, list.Msg.Badge
}

// heard returns the texts of the messages in a stream.
func heard(events []*chatv1.Event) (list []string) {
	for _, e := range events {
		if text := e.GetMessage().GetContent().GetText(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// What a user clears is gone from histories, lists, counts and the streams of all devices, and only for that user. A deleted chat comes
// back with a message, and has only that.
func TestClearingAndDeletingAChat(t *testing.T) {
	ctx, h := t.Context(), apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	h.Send(t, ann, c, "1", "one")
	two := h.Send(t, ann, c, "2", "two").Seq
	three := h.Send(t, ann, c, "3", "three").Seq
	for _, p := range []*apptest.Person{ann, bob} {
		caught(t, p, c, three, "")
	}
	if list, badge := conversations(t, bob); len(list) != 1 || list[0].Unread != 3 || badge != 3 {
		t.Fatalf("before, the list is %v with a badge of %d", list, badge)
	}
	expect := func(when string, p *apptest.Person, want ...string) {
		t.Helper()
		page, err := h.Chat().History(ctx, apptest.As(p, &chatv1.HistoryRequest{Conversation: c}))
		must(t, err)
		if got := texts(page.Msg.Messages); !slices.Equal(got, want) {
			t.Errorf("%s: the history has %q, want %q", when, got, want)
		}
		if got := heard(streamOf(t, p, c, when)); !slices.Equal(got, want) {
			t.Errorf("%s: a new device hears %q, want %q", when, got, want)
		}
	}
	clearTo := func(through uint64, andDelete bool) *chatv1.Deletion {
		t.Helper()
		d, err := h.Chat().ClearHistory(ctx, apptest.As(bob, &chatv1.ClearHistoryRequest{Conversation: c, ThroughSeq: through, Delete: andDelete}))
		must(t, err)
		return d.Msg
	}

	clearTo(two, false)
	expect("with a part cleared", bob, "three")
	if list, badge := conversations(t, bob); len(list) != 1 || list[0].JoinSeq != two+1 || list[0].Unread != 1 || badge != 1 {
		t.Errorf("with a part cleared, the list is %v with a badge of %d", list, badge)
	}
	d := clearTo(0, true)
	if list, badge := conversations(t, bob); !d.Deleted || len(list) != 0 || badge != 0 {
		t.Errorf("the deletion is %v, and the list is %v with a badge of %d", d, list, badge)
	}
	expect("deleted", bob)
	expect("deleted by the other", ann, "one", "two", "three")
	told := slices.ContainsFunc(streamOf(t, bob, c, "told"), func(e *chatv1.Event) bool { return e.GetDeletion().GetDeleted() })
	if !told {
		t.Error("the other devices are not told of the deletion")
	}

	caught(t, bob, c, h.Send(t, ann, c, "4", "four").Seq, "")
	expect("with a new message", bob, "four")
	if list, badge := conversations(t, bob); len(list) != 1 || list[0].Unread != 1 || badge != 1 || list[0].LastMessage.GetContent().GetText() != "four" {
		t.Errorf("with a new message, the list is %v with a badge of %d, want one unread conversation whose last message is the new one, and 1", list, badge)
	}
	clearTo(0, false)
	v, err := h.Chat().GetConversation(ctx, apptest.As(bob, &chatv1.GetConversationRequest{Conversation: c}))
	must(t, err)
	if list, badge := conversations(t, bob); len(list) != 1 || list[0].Unread != 0 || list[0].LastMessage != nil || badge != 0 || v.Msg.JoinSeq != v.Msg.LastSeq+1 || v.Msg.LastMessage != nil {
		t.Errorf("with a cleared history, the list is %v with a badge of %d, and the conversation %v", list, badge, v.Msg)
	}
}

// A message that a user deletes is gone from the user's history, list, counts and streams, and from nobody else's.
func TestDeletingMessages(t *testing.T) {
	ctx, h := t.Context(), apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	one := h.Send(t, ann, c, "1", "one").Seq
	h.Send(t, ann, c, "2", "two")
	three := h.Send(t, ann, c, "3", "three").Seq
	for _, p := range []*apptest.Person{ann, bob} {
		caught(t, p, c, three, "")
	}
	_, err := h.Chat().DeleteMessages(ctx, apptest.As(bob, &chatv1.DeleteMessagesRequest{Conversation: c, Seqs: []uint64{one, three}}))
	must(t, err)
	for p, want := range map[*apptest.Person][]string{bob: {"two"}, ann: {"one", "two", "three"}} {
		page, err := h.Chat().History(ctx, apptest.As(p, &chatv1.HistoryRequest{Conversation: c}))
		must(t, err)
		if got := texts(page.Msg.Messages); !slices.Equal(got, want) {
			t.Errorf("the history has %q, want %q", got, want)
		}
		if got := heard(streamOf(t, p, c, "deleted")); !slices.Equal(got, want) {
			t.Errorf("a new device hears %q, want %q", got, want)
		}
		list, _ := conversations(t, p)
		if len(list) != 1 || list[0].LastMessage.GetContent().GetText() != want[len(want)-1] {
			t.Errorf("the list is %v, want %q as the last message", list, want[len(want)-1])
		}
	}
	if list, badge := conversations(t, bob); list[0].Unread != 1 || badge != 1 {
		t.Errorf("%d messages are unread with a badge of %d, want 1", list[0].Unread, badge)
	}
	if list, _ := conversations(t, bob); list[0].LastSeq != three-1 {
		t.Errorf("the last seq is %d, want that of the message before the deleted one", list[0].LastSeq)
	}
}

// The row of a thread shows the reply before the one that the user deleted, not who began to follow in between.
func TestDeletingTheLastReply(t *testing.T) {
	ctx, h := t.Context(), apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	root := h.Send(t, bob, c, "1", "root").Seq
	started, err := h.Chat().StartThread(ctx, apptest.As(bob, &chatv1.StartThreadRequest{Conversation: c, Seq: root}))
	must(t, err)
	thread := started.Msg.Id
	h.Send(t, bob, thread, "2", "one")
	_, err = h.Chat().Join(ctx, apptest.As(ann, &chatv1.JoinRequest{Conversation: thread}))
	must(t, err)
	two := h.Send(t, ann, thread, "3", "two").Seq
	_, err = h.Chat().DeleteMessages(ctx, apptest.As(bob, &chatv1.DeleteMessagesRequest{Conversation: thread, Seqs: []uint64{two}}))
	must(t, err)
	list, err := h.Chat().ListThreads(ctx, apptest.As(bob, &chatv1.ListThreadsRequest{}))
	must(t, err)
	if l := list.Msg.Threads; len(l) != 1 || l[0].LastMessage.GetContent().GetText() != "one" {
		t.Errorf("the threads are %v", l)
	}
}
