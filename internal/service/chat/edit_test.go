package chat_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A message from before a user joined stays unreadable to that user when it is edited later.
func TestEditsOfMessagesFromBeforeTheJoin(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	send := func(n uint64, content *chatv1.Content) uint64 {
		t.Helper()
		d := updateDraft(t, c, 1, n, content)
		must(t, s.Send(ctx, d))
		return d.Seq
	}
	before := send(1, textOf("before"))
	_, err = s.Leave(ctx, c, 3)
	must(t, err)
	_, err = s.Invite(ctx, c, 1, []uint64{3, 4})
	must(t, err)
	after := send(2, textOf("after"))
	ofBefore, ofAfter := send(3, editOf(before, "before, edited")), send(4, editOf(after, "after, edited"))
	for u, want := range map[id.User]string{1: "before, edited", 2: "before, edited", 3: "", 4: ""} {
		history, err := s.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(c)})
		must(t, err)
		for _, m := range []*chatv1.Message{messageAt(t, s, u, c, ofBefore), history.Messages[len(history.Messages)-2]} {
			if got := m.Content.GetEdit(); m.Seq != ofBefore || got.GetTarget().GetSeq() != before || got.GetContent().GetText() != want {
				t.Errorf("user %d reads the edit as %v, want %q", u, m, want)
			}
		}
		if got := messageAt(t, s, u, c, ofAfter).Content.GetEdit().GetContent().GetText(); got != "after, edited" {
			t.Errorf("user %d reads the edit of a message from after the join as %q", u, got)
		}
	}
	if _, err := s.ListEdits(ctx, 4, &chatv1.ListEditsRequest{Conversation: uint64(c), Seq: before}); reasonOf(err) != "no_message" {
		t.Errorf("the versions of an earlier message: %v", err)
	}
	later, err := s.JoinedAfter(ctx, c, before, []id.User{1, 2, 3, 4})
	if must(t, err); !slices.Equal(later, []id.User{3, 4}) {
		t.Errorf("users %v joined after the message, want 3 and 4", later)
	}
	thread, err := s.StartThread(ctx, 1, c, after)
	must(t, err)
	reply := message.Draft{Conversation: thread, Sender: 1, Device: 101, ClientSeq: 9, Content: contentOf(t, textOf("reply"))}
	must(t, s.Send(ctx, &reply))
	_, _, err = s.Join(ctx, 4, &chatv1.JoinRequest{Conversation: uint64(thread)})
	must(t, err)
	ofReply := updateDraft(t, thread, 1, 10, editOf(reply.Seq, "reply, edited"))
	must(t, s.Send(ctx, ofReply))
	if got := messageAt(t, s, 4, thread, ofReply.Seq).Content.GetEdit().GetContent().GetText(); got != "reply, edited" {
		t.Errorf("in a thread, which is readable from its beginning, the edit is %q", got)
	}
}
