package chat_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// FindSent finds a message by its client_msg_id, on any node, and neither sends nor opens anything.
func TestFindSent(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, other := h.node(t), h.node(t)
	find := func(from, to id.User, wantC id.Conversation, wantSeq uint64) {
		t.Helper()
		for _, s := range []*chat.Service{s, other} {
			if c, seq, err := s.FindSent(t.Context(), from, to, "broadcast.1"); err != nil || c != wantC || seq != wantSeq {
				t.Errorf("from %d to %d: got %d %d %v, want %d %d", from, to, c, seq, err, wantC, wantSeq)
			}
		}
	}
	find(1, 2, 0, 0)
	c, err := s.OpenDirect(t.Context(), 1, 2)
	must(t, err)
	find(1, 2, c, 0)
	d := &message.Draft{Conversation: c, Sender: 1, ClientMsgID: "broadcast.1", Content: draftOf(c, 1, 1, "x").Content}
	must(t, s.Send(t.Context(), d))
	find(1, 2, c, d.Seq)
	find(2, 1, c, 0)
	again := &message.Draft{Conversation: c, Sender: 1, ClientMsgID: "broadcast.1", Content: d.Content}
	must(t, s.Send(t.Context(), again))
	if !again.Duplicate || again.Seq != d.Seq {
		t.Errorf("the message was sent again as %+v", again)
	}
}
