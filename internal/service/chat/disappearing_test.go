package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// From its expiry on, a message is in no read, no forward and no push, although the job has not deleted it yet.
func TestDisappearingMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	forward := f.send(t, f.to, 2, 1, forwardOf(f.from, "", f.one, f.two))
	_, err := f.SetRetention(ctx, f.from, 1, 60)
	must(t, err)
	stored, err := f.log.Get(ctx, []timeline.Ref{{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(f.from)}, From: f.one, To: f.one}})
	must(t, err)
	pushed := func() bool {
		t.Helper()
		m := &message.Stored{Conversation: f.from, Seq: f.one}
		must(t, m.Entry.Decode(stored[0].Payload))
		if !f.MayBeOutdated(stored[0].Payload) {
			t.Error("an old message is pushed as it was stored")
		}
		must(t, f.Refresh(ctx, []*message.Stored{m}))
		return m.Entry.ID != (id.Message{})
	}
	expectRead := func(when string, seqs int, shown string, push bool) {
		t.Helper()
		if got := seqsOf(t, f.Service, 2, f.from); len(got) != seqs {
			t.Errorf("%s %v are read, want %d", when, got, seqs)
		}
		if got := f.texts(t, forward); got != shown {
			t.Errorf("%s the forward shows %q, want %q", when, got, shown)
		}
		if got := pushed(); got != push {
			t.Errorf("%s the message is pushed: %v", when, got)
		}
	}
	f.clock.ms.Add(60_000)
	expectRead("at its last moment", 4, "one two", true)
	f.clock.ms.Add(1)
	expectRead("after a minute", 0, "- -", false)
	if tail := f.tail(t, f.from); tail.FirstSeq > 1 {
		t.Errorf("the log begins at %d", tail.FirstSeq)
	}
	if err := f.Send(ctx, updateDraft(t, f.to, 2, 2, forwardOf(f.from, "", f.one))); reasonOf(err) != "no_message" {
		t.Errorf("forwarding an expired message returned %v", err)
	}
	f.clock.ms.Add(-30_000)
	expectRead("with the clock set back", 0, "- -", false)
}

// Messages with a time of less than a day are deleted without waiting for the hourly job.
func TestShortRetentionIsDeletedSoon(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	var list []id.Conversation
	for i, seconds := range []uint32{60, daySeconds - 1, daySeconds} {
		c, err := s.OpenDirect(ctx, 1, id.User(2+i))
		must(t, err)
		must(t, s.Send(ctx, draftOf(c, 1, uint64(i)+1, "x")))
		_, err = s.SetRetention(ctx, c, 1, seconds)
		must(t, err)
		list = append(list, c)
	}
	h.completeFanout(t)
	h.clock.ms.Add(dayMs + 1)
	must(t, chat.ExpireShort(ctx, s))
	for i, want := range []int{2, 2, 3} { // the control entries stay
		if got := len(h.entries(t, list[i])); got != want {
			t.Errorf("conversation %d has %d entries, want %d", i, got, want)
		}
	}
}

// Entries from before retention had seconds name days.
func TestRetentionInDaysIsRead(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_RETENTION, Actor: 1, RetentionDays: 7, PrevAccess: 1}}})
	must(t, err)
	n, err := h.messages.Next(1, c)
	must(t, err)
	e := message.Entry{ID: n, Sender: 1, Control: true, Content: content}
	done := make(chan error, 1)
	h.log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, Payload: e.Append(nil), CheckAccess: true, ExpectedAccess: 1, SetAccess: true,
		Done: func(a *timeline.AppendRequest) { done <- a.Err }})
	must(t, <-done)
	v, err := h.node(t).Describe(ctx, 1, c)
	must(t, err)
	if v.RetentionSeconds != 7*daySeconds || v.KeptSeconds != 7*daySeconds {
		t.Errorf("messages are kept for %d seconds, by a setting of %d", v.KeptSeconds, v.RetentionSeconds)
	}
}
