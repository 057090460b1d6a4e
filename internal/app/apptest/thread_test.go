package apptest_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A thread from its start to its loss: followers are pushed replies and count them as unread, other members learn of it at the root, and who
// is removed from the group has nothing of it in lists, badge, history and stream.
func TestThreads(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	made, err := h.Chat().CreateGroup(t.Context(), apptest.As(alice, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{bob.User, carol.User}}))
	must(t, err)
	group := made.Msg.Id
	root := h.Send(t, bob, group, "1", "root").Seq
	watching, _ := carol.Socket(t, "rialto.v1.proto")

	started, err := h.Chat().StartThread(t.Context(), apptest.As(alice, &chatv1.StartThreadRequest{Conversation: group, Seq: root}))
	must(t, err)
	thread := started.Msg
	if thread.Kind != chatv1.ConversationKind_CONVERSATION_KIND_THREAD || thread.Parent != group || thread.RootSeq != root || thread.Root.GetContent().GetText() != "root" || thread.MemberCount != 2 {
		t.Errorf("the thread is %v", thread)
	}
	watching.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if s := e.GetMessage().GetContent().GetThread(); s != nil {
				return s.Conversation == thread.Id && s.Target.Seq == root
			}
		}
		return false
	})
	h.Send(t, alice, thread.Id, "2", "reply one")
	h.Send(t, alice, thread.Id, "3", "reply two")
	watching.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetConversation() == thread.Id {
				t.Errorf("who does not follow is pushed %v", e)
			}
		}
		for _, u := range f.Threads {
			if u.Conversation == group && u.Seq == root && u.Thread.Replies == 2 && u.Thread.LastReplyMs != 0 {
				return true
			}
		}
		return false
	})

	threads := func(p *apptest.Person) []*chatv1.Conversation {
		t.Helper()
		r, err := h.Chat().ListThreads(t.Context(), apptest.As(p, &chatv1.ListThreadsRequest{}))
		must(t, err)
		return r.Msg.Threads
	}
	badge := func(p *apptest.Person) uint64 {
		t.Helper()
		r, err := h.Chat().ListConversations(t.Context(), apptest.As(p, &chatv1.ListConversationsRequest{}))
		must(t, err)
		if len(r.Msg.Conversations) != 1 || r.Msg.Conversations[0].Id != group {
			t.Errorf("the conversations are %v", r.Msg.Conversations)
		}
		return r.Msg.Badge
	}
	if l := threads(carol); len(l) != 0 {
		t.Errorf("who does not follow has %v", l)
	}
	if l := threads(bob); len(l) != 1 || l[0].Unread != 2 || l[0].LastMessage.GetContent().GetText() != "reply two" || l[0].Root.GetContent().GetText() != "root" || l[0].Root.Thread.Replies != 2 {
		t.Errorf("the sender of the root has %v", l)
	}
	if n := badge(bob); n != 2 {
		t.Errorf("the badge is %d, want that of the thread, 2", n)
	}
	if l := threads(alice); len(l) != 1 || l[0].Unread != 0 {
		t.Errorf("the writer has %v", l)
	}
	of, err := h.Chat().GetConversation(t.Context(), apptest.As(carol, &chatv1.GetConversationRequest{Conversation: thread.Id}))
	must(t, err)
	if of.Msg.Role != 0 || of.Msg.Unread != 0 || of.Msg.LastMessage.GetContent().GetText() != "reply two" {
		t.Errorf("who does not follow sees %v", of.Msg)
	}
	_, err = h.Chat().Join(t.Context(), apptest.As(carol, &chatv1.JoinRequest{Conversation: thread.Id}))
	must(t, err)
	if l := threads(carol); len(l) != 1 || l[0].Unread != 0 {
		t.Errorf("who begins to follow has %v", l)
	}
	last := h.Send(t, alice, thread.Id, "4", "reply three")
	if l := threads(carol); len(l) != 1 || l[0].Unread != 1 {
		t.Errorf("with an unread reply, the follower has %v", l)
	}
	_, err = h.Chat().Mark(t.Context(), apptest.As(bob, &chatv1.MarkRequest{Conversation: thread.Id, ReadSeq: last.Seq}))
	must(t, err)
	if n := badge(bob); n != 0 {
		t.Errorf("after reading, the badge is %d", n)
	}

	_, err = h.Chat().Remove(t.Context(), apptest.As(alice, &chatv1.RemoveRequest{Conversation: group, Users: []uint64{carol.User}}))
	must(t, err)
	h.Send(t, alice, thread.Id, "5", "after the removal")
	if l := threads(carol); len(l) != 0 {
		t.Errorf("who was removed has %v", l)
	}
	list, err := h.Chat().ListConversations(t.Context(), apptest.As(carol, &chatv1.ListConversationsRequest{}))
	must(t, err)
	if list.Msg.Badge != 0 || len(list.Msg.Conversations) != 0 {
		t.Errorf("who was removed has the list %v", list.Msg)
	}
	if _, err := h.Chat().History(t.Context(), apptest.As(carol, &chatv1.HistoryRequest{Conversation: thread.Id})); err == nil {
		t.Error("who was removed reads the thread")
	}
	synced, err := h.Chat().Sync(t.Context(), apptest.As(carol, &chatv1.SyncRequest{Limit: 200}))
	must(t, err)
	for _, e := range synced.Msg.Events {
		if e.GetMessage().GetConversation() == thread.Id {
			t.Errorf("who was removed syncs %v", e)
		}
	}
}
