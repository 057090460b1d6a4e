package streamedmessage_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// moderated opens nodes with a webhook that allows all messages.
func moderated(t *testing.T, count int, parts string) *nodes {
	t.Helper()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"allow":true}`) }))
	t.Cleanup(hook.Close)
	return newNodesWith(t, count, streamedmessage.Config{}, chat.Config{BeforeSend: webhook.Config{URL: hook.URL, Secret: "a secret of 16 characters"}, BeforeSendParts: parts})
}

// While a webhook decides about messages, nobody reads a part or a note before it has: no push has them, nor the answer to who comes late, from any node.
func TestPartsAreHiddenUntilTheWebhookHasDecided(t *testing.T) {
	n := moderated(t, 2, "")
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	thinking := &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: seq, Text: "secret", State: chatv1.WritingState_WRITING_STATE_TOOL, Note: "secret"}
	if r := n.writePart(a, bot, thinking); r.Length != 6 || r.Reason != "" {
		t.Errorf("a part is answered %v", r)
	}
	n.push(a)
	n.write(a, seq, 6, " plan")
	n.push(a)
	got := a.pushes(bob.User)
	if len(got) != 2 || got[0].State != chatv1.WritingState_WRITING_STATE_TOOL {
		t.Errorf("a reader was pushed %v", got)
	}
	hidden := func(what string, s *chatv1.StreamedText, err error) {
		t.Helper()
		if err != nil || s.Text != "" || s.Note != "" || s.Offset != 0 || s.Ended {
			t.Errorf("%s shows %v, %v", what, s, err)
		}
	}
	for _, s := range got {
		hidden("a push", s, nil)
	}
	get := &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}
	for _, o := range n.list {
		s, err := o.Get(context.Background(), ann, get)
		hidden(o.name, s, err)
	}
	a.Renew(context.Background()) // the text is in the row then
	a.dead.Store(true)
	s, err := b.Get(context.Background(), ann, get)
	hidden("a row without a holder", s, err)
	if _, err := n.end(b, seq, "secret plan"); err != nil {
		t.Fatal(err)
	}
	if c := n.read(b, bob, seq).Content; c.GetText() != "secret plan" || c.BrokenOff != nil {
		t.Errorf("the message has ended as %v", c)
	}
}

func TestPartsAreShownIfTheOperatorWants(t *testing.T) {
	n := moderated(t, 1, "show")
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "shown")
	n.push(o)
	if got := o.pushes(bob.User); len(got) != 1 || got[0].Text != "shown" {
		t.Errorf("a reader was pushed %v", got)
	}
	if err := (chat.Config{BeforeSendParts: "maybe"}).Check(); err == nil {
		t.Error("the setting may be maybe")
	}
}

// Who may not read a message is answered as if there were none: nobody learns who writes what, by writing to it, ending or stopping it.
func TestUsersWhoMayNotReadLearnNothing(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	seq := n.start(n.list[0], "1")
	n.write(n.list[0], seq, 0, "Hello")
	outsider, none := id.Caller{User: 77, Device: 770}, seq+50
	for _, o := range n.list { // the holder, and another node
		answers := func(by id.Caller, seq uint64) (reasons [4]string) {
			reasons[0] = n.writePart(o, by, &chatv1.StreamedPart{Conversation: uint64(n.group), Seq: seq, Offset: 5, Text: "x"}).Reason
			for i, q := range []*chatv1.EndStreamedMessageRequest{{Length: 5}, {Content: textOf("x")}, {Failed: true}} {
				q.Conversation, q.Seq = uint64(n.group), seq
				_, err := o.End(context.Background(), by, q)
				reasons[1+i] = reason(err)
			}
			return reasons
		}
		if is, other := answers(outsider, seq), answers(outsider, none); is != other || is[0] == "" || is[0] == "not_sender" {
			t.Errorf("%s answers an outsider %v of a message, and %v of none", o.name, is, other)
		}
		if got := answers(bob, seq); got != [4]string{"not_sender", "not_sender", "not_sender", "not_sender"} {
			t.Errorf("%s answers a member %v", o.name, got)
		}
	}
	n.pass(time.Second)
	if r := n.write(n.list[1], seq, 5, "!"); r.Reason != "" || r.Length != 6 {
		t.Errorf("its sender goes on, and is answered %v", r)
	}
}
