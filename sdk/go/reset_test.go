package rialto_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// TestWhatWaitsAfterAReset: the seqs that a client knew before a reset may be those of other messages. Cursors are forgotten, changes of messages are given up,
// answers lose what they refer to, and messages are sent with their numbers.
func TestWhatWaitsAfterAReset(t *testing.T) {
	frames := make(chan *gatewayv1.ClientFrame, 100)
	s := start(t, &server{tail: &chatv1.Position{Epoch: 2, Seq: 500}, script: func(_ int, c *conn) {
		for f := c.read(); f != nil; f = c.read() {
			frames <- f
			c.store(f.Sends)
		}
	}, sync: func(*chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Reset_: true, Next: &chatv1.Position{Epoch: 2, Seq: 500}}
	}})
	text := func(text string, replyTo *chatv1.Ref) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}, ReplyTo: replyTo}
	}
	box := []*chatv1.Content{
		text("plain", nil),
		{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 40}, Content: text("edited", nil)}}},
		text("an answer", &chatv1.Ref{Seq: 40}),
		{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: 40}}}},
		text("an answer to one's own", &chatv1.Ref{ClientSeq: 1}),
		{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{ClientSeq: 1}}}},
	}
	state := rialto.State{User: 1, Device: 2, Access: "access0", AccessEndsMs: 1 << 50, Refresh: "r", Epoch: 1, Seq: 900, Seen: map[uint64]uint64{7: 40}, ClientSeq: uint64(len(box))}
	for i, content := range box {
		b, err := proto.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		state.Outbox = append(state.Outbox, rialto.Unsent{ClientSeq: uint64(i + 1), Conversation: 7, Content: b})
	}
	store := rialto.NewMemoryStore()
	if err := store.Save(state); err != nil {
		t.Fatal(err)
	}
	c, events := s.client(store)
	c.Mark(7, 40, 40)
	waits := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: 40}, Emoji: "👍"}}})
	run(t, c)
	if e := <-events; !e.Reset {
		t.Errorf("%v came first", e)
	}
	for _, want := range []uint64{2, 4} {
		if e := <-events; e.Refused.GetClientSeq() != want || e.Refused.Error.GetReason() != "no_message" {
			t.Errorf("%v came, want the refusal of %d", e, want)
		}
	}
	if _, err := waits(t.Context()); rialto.Reason(err) != "no_message" {
		t.Errorf("a reaction to a message that may be lost: %v", err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Mark(7, 3, 3)
	var sent, marks []string
	for len(marks) == 0 {
		f := <-frames
		for _, x := range f.Sends {
			sent = append(sent, fmt.Sprint(x.ClientSeq, " ", x.Content.GetText(), x.Content.GetReplyTo()))
		}
		for _, m := range f.Marks {
			marks = append(marks, fmt.Sprint(m.Conversation, ":", m.DeliveredSeq, ",", m.ReadSeq))
		}
	}
	own := &chatv1.Ref{ClientSeq: 1}
	if want := []string{"1 plain<nil>", "3 an answer<nil>", fmt.Sprint("5 an answer to one's own", own), "6 <nil>"}; !slices.Equal(sent, want) {
		t.Errorf("%q were sent, want %q", sent, want)
	}
	if want := []string{"7:3,3"}; !slices.Equal(marks, want) {
		t.Errorf("the marks are %q, want %q", marks, want)
	}
}

// TestAnAnswerThatMayBeStored: a message that the server may have goes out again as it was, or the server would take it for another one.
func TestAnAnswerThatMayBeStored(t *testing.T) {
	sends := make(chan []*gatewayv1.Send, 1)
	s := start(t, &server{clientSeq: 1, tail: &chatv1.Position{Epoch: 2, Seq: 500}, script: func(_ int, c *conn) {
		sends <- c.sends()
		c.untilGone()
	}, sync: func(*chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Reset_: true, Next: &chatv1.Position{Epoch: 2, Seq: 500}}
	}})
	c, _ := s.client(nil)
	for range 2 {
		c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "an answer"}, ReplyTo: &chatv1.Ref{Seq: 3}})
	}
	run(t, c)
	if got := <-sends; len(got) != 2 || got[0].Content.GetReplyTo().GetSeq() != 3 || got[1].Content.ReplyTo != nil {
		t.Errorf("%v were sent", got)
	}
}

// TestAnAnswerThatWasSentBeforeAReset: likewise a message that was sent on the connection on which the reset comes.
func TestAnAnswerThatWasSentBeforeAReset(t *testing.T) {
	sends := make(chan []*gatewayv1.Send, 2)
	reset := make(chan struct{})
	var syncs atomic.Int32
	s := start(t, &server{tail: &chatv1.Position{Epoch: 1, Seq: 5}, script: func(_ int, c *conn) {
		sends <- c.sends()
		c.write(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{}})
		<-reset
		c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 7, ClientSeq: 1, Error: &gatewayv1.Error{Code: "unavailable", Reason: "busy", RetryMs: 1}}}})
		sends <- c.sends()
		c.untilGone()
	}, sync: func(*chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Reset_: syncs.Add(1) == 2, Next: &chatv1.Position{Epoch: 1, Seq: 5}}
	}})
	c, events := s.client(nil)
	c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "an answer"}, ReplyTo: &chatv1.Ref{Seq: 3}})
	run(t, c)
	if first := <-sends; len(first) != 1 || first[0].Content.GetReplyTo().GetSeq() != 3 {
		t.Fatalf("%v were sent", first)
	}
	for e := range events {
		if e.Reset {
			break
		}
	}
	close(reset)
	if again := <-sends; len(again) != 1 || again[0].ClientSeq != 1 || again[0].Content.GetReplyTo().GetSeq() != 3 {
		t.Errorf("%v were sent after the reset", again)
	}
}
