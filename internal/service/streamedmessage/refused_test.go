package streamedmessage_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func (n *nodes) send(o *node, clientMsgID string, c *chatv1.Content) error {
	n.t.Helper()
	content, err := proto.Marshal(c)
	n.must(err)
	return o.chat.Send(context.Background(), &message.Draft{Conversation: n.group, Sender: bot.User, ClientMsgID: clientMsgID, Content: content})
}

func editOf(seq uint64, content *chatv1.Content, ends bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content, Ends: ends}}}
}

// What only the server writes is refused from everybody, also from the sender. A message that is being written is neither edited nor forwarded, and
// afterwards as any other.
func TestWhatOnlyTheServerWrites(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "half")
	broken := textOf("half")
	broken.BrokenOff = &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_LOST}
	forward := &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Conversation: uint64(n.group), Seqs: []uint64{seq}}}}
	for what, c := range map[string]struct {
		content *chatv1.Content
		reason  string
	}{
		"a beginning":             {&chatv1.Content{Kind: &chatv1.Content_Streamed{Streamed: &chatv1.Streamed{}}}, "bad_content"},
		"a mark":                  {broken, "bad_content"},
		"an edit that has a mark": {editOf(seq, broken, false), "bad_content"},
		"an end":                  {editOf(seq, textOf("whole"), true), "bad_edit"},
		"an edit":                 {editOf(seq, textOf("whole"), false), "being_written"},
		"a forward":               {forward, "being_written"},
	} {
		if err := n.send(o, what, c.content); reason(err) != c.reason {
			t.Errorf("%s is answered %v, want %s", what, err, c.reason)
		}
	}
	if _, err := o.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Content: broken}); reason(err) != "bad_content" {
		t.Errorf("an end with a mark of its sender's: %v", err)
	}
	if _, err := o.End(context.Background(), ann, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Content: textOf("whole")}); reason(err) != "not_sender" {
		t.Errorf("an end by somebody else: %v", err)
	}
	if _, err := n.end(o, seq, "whole"); err != nil {
		t.Fatal(err)
	}
	n.must(n.send(o, "edit", editOf(seq, textOf("better"), false)))
	if m := n.read(o, bob, seq); m.Content.GetText() != "better" || m.EditedMs == 0 {
		t.Errorf("the edited message is %v", m)
	}
	versions, err := o.chat.ListEdits(context.Background(), bob.User, &chatv1.ListEditsRequest{Conversation: uint64(n.group), Seq: seq})
	n.must(err)
	if v := versions.Versions; len(v) != 2 || v[0].Content.GetText() != "whole" || v[0].EditedMs != 0 || v[1].Content.GetText() != "better" || v[1].EditedMs == 0 {
		t.Errorf("its versions are %v", v)
	}
	forward.GetForward().Seqs = []uint64{seq}
	if err := n.send(o, "forward", forward); err != nil {
		t.Errorf("a forward of the message: %v", err)
	}
}
