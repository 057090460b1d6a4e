package streamedmessage_test

import (
	"context"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// All nodes serve a message that one of them holds.
func TestEachNodeServesAMessage(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	if r := n.write(b, seq, 0, "Hello"); r.Length != 5 || r.Reason != "" {
		t.Errorf("a part at another node is answered %v", r)
	}
	n.push(a)
	if got := a.pushes(bob.User); len(got) != 1 || got[0].Text != "Hello" {
		t.Errorf("a reader was pushed %v", got)
	}
	if late, err := b.Get(context.Background(), ann, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); err != nil || late.Text != "Hello" {
		t.Errorf("who asks another node reads %v, %v", late, err)
	}
	if _, err := b.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq, Length: 5}); err != nil {
		t.Errorf("an end at another node: %v", err)
	}
	if c := n.read(b, ann, seq).Content; c.GetText() != "Hello" || c.BrokenOff != nil {
		t.Errorf("the message has ended as %v", c)
	}
	seq = n.start(a, "2")
	n.write(a, seq, 0, "Stop")
	n.pass(2 * time.Second)
	if _, err := n.stop(b, bob, seq); err != nil {
		t.Errorf("a stop at another node: %v", err)
	}
	n.isBrokenOff(n.read(a, ann, seq).Content, "Stop", chatv1.BrokenOff_CAUSE_STOPPED)
}

// The holder is killed, and the sender with it: the coordinator breaks the message off, with the text that the row has.
func TestALostNodeLeavesAMarkedMessage(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	n.write(a, seq, 0, "stored")
	n.push(a)
	a.Renew(context.Background())
	n.write(a, seq, 6, ", and lost")
	a.dead.Store(true)
	if late, err := b.Get(context.Background(), bob, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); err != nil || late.Text != "stored" || late.Ended {
		t.Errorf("who asks before the end reads %v, %v", late, err)
	}
	n.must(b.Sweep(context.Background()))
	if len(n.ends(seq)) != 0 {
		t.Error("the message was broken off before its time")
	}
	n.pass(61 * time.Second)
	n.must(b.Sweep(context.Background()))
	n.isBrokenOff(n.read(b, bob, seq).Content, "stored", chatv1.BrokenOff_CAUSE_LOST)
	if n.rows() != 0 {
		t.Errorf("%d rows are left", n.rows())
	}
	// The holder was only paused: nothing that it does changes the end.
	a.dead.Store(false)
	n.push(a)
	a.Renew(context.Background())
	if _, err := n.end(a, seq, "stored, and lost"); err != nil {
		t.Error(err)
	}
	if messages, _ := a.Held(); messages != 0 || len(n.ends(seq)) != 1 {
		t.Errorf("the former holder holds %d messages, and the log has the ends %v", messages, n.ends(seq))
	}
}

// A message whose holder is killed soon keeps the greater part of its text: a young one is renewed more often than an old one.
func TestAYoungMessageIsRenewedSoon(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	want := []int{1, 1, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7, 7, 15} // the characters of the row after each second: it is written after 1, 2, 4 and 8 more
	a.dead.Store(true)                                          // b reads the row
	for i, stored := range want {
		if r := n.write(a, seq, i, "x"); r.Reason != "" {
			t.Fatalf("part %d is answered %v", i, r)
		}
		n.push(a)
		a.Renew(context.Background())
		if got, err := b.Get(context.Background(), bob, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); err != nil || len(got.Text) != stored {
			t.Errorf("after %d s the row has %q (%v), want %d characters", i+1, got.GetText(), err, stored)
		}
	}
}

// The holder is killed, and the sender goes on at another node: the message becomes whole.
func TestASenderGoesOnAtAnotherNode(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	n.write(a, seq, 0, "one")
	n.push(a)
	a.Renew(context.Background())
	n.write(a, seq, 3, ", two")
	a.dead.Store(true)
	r := n.write(b, seq, 8, ", three")
	if r.Reason != "bad_offset" || r.Length != 3 {
		t.Fatalf("a part at another node is answered %v", r)
	}
	if r = n.write(b, seq, 3, ", two, three"); r.Reason != "" || r.Length != 15 {
		t.Fatalf("the text from there is answered %v", r)
	}
	n.push(b)
	if got := b.pushes(bob.User); len(got) != 1 || got[0].Text != "one, two, three" || got[0].Offset != 0 {
		t.Errorf("a reader was pushed %v", got)
	}
	a.dead.Store(false) // it was only paused
	a.pushes(bob.User)
	a.Renew(context.Background())
	n.push(a)
	if got := a.pushes(bob.User); len(got) > 0 {
		t.Errorf("the former holder pushed %v", got)
	}
	if messages, _ := a.Held(); messages != 0 {
		t.Error("the former holder holds the message")
	}
	if _, err := n.end(b, seq, "one, two, three"); err != nil {
		t.Fatal(err)
	}
	if c := n.read(a, ann, seq).Content; c.GetText() != "one, two, three" || c.BrokenOff != nil {
		t.Errorf("the message has ended as %v", c)
	}
}

// A node that stops leaves the texts to the others.
func TestAStoppedNodeLeavesTheTexts(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	n.write(a, seq, 0, "all of it")
	n.push(a)
	a.Release(context.Background())
	if r := n.write(b, seq, 9, "!"); r.Reason != "" || r.Length != 10 {
		t.Errorf("a part at another node is answered %v", r)
	}
	if _, err := a.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "2"}); reason(err) != "too_many_streamed" {
		t.Errorf("a start at a node that stops: %v", err)
	}
}

// After an outage of the database, those who live renew their rows before anybody breaks their messages off.
func TestALivingHolderIsWaitedFor(t *testing.T) {
	n := newNodes(t, 2, streamedmessage.Config{IdleTimeout: time.Hour})
	a, b := n.list[0], n.list[1]
	seq := n.start(a, "1")
	n.pass(70 * time.Second)
	n.must(b.Sweep(context.Background()))
	n.must(a.Sweep(context.Background()))
	a.Renew(context.Background())
	n.pass(59 * time.Second)
	n.must(b.Sweep(context.Background()))
	if r := n.write(a, seq, 0, "here"); r.Reason != "" || len(n.ends(seq)) != 0 {
		t.Errorf("a part is answered %v, and the log has the ends %v", r, n.ends(seq))
	}
}

// A process that is killed right after it has stored the beginning leaves a message that is neither forgotten nor written for ever: fan-out
// reads the entry again.
func TestABeginningWhoseNodeIsKilled(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	o.failOn.Store(true)
	q := &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "1"}
	if _, err := o.Start(context.Background(), bot, q); err == nil || n.rows() != 0 {
		t.Fatalf("the start: %v, and %d rows", err, n.rows())
	}
	o.failOn.Store(false)
	entries, err := n.log.Read(context.Background(), timeline.Key{Kind: timeline.Conversation, ID: uint64(n.group)}, 0, 1<<20)
	n.must(err)
	last := entries[len(entries)-1]
	apply := func() {
		m := message.Stored{Conversation: n.group, Seq: last.Seq, Counted: last.Counted}
		n.must(m.Entry.Decode(last.Payload))
		if !message.HasEffect(m.Entry.Content) {
			t.Fatal("fan-out does not apply the beginning")
		}
		_, err := o.chat.ApplyUpdates(context.Background(), []*message.Stored{&m})
		n.must(err)
	}
	apply()
	if n.rows() != 1 {
		t.Fatalf("%d rows are there", n.rows())
	}
	n.pass(61 * time.Second)
	n.must(o.Sweep(context.Background()))
	n.isBrokenOff(n.read(o, bob, last.Seq).Content, "", chatv1.BrokenOff_CAUSE_LOST)
	apply() // again, as after a restart
	if n.rows() != 0 {
		t.Error("the beginning was applied after the end, and has a row again")
	}
	if a, err := o.Start(context.Background(), bot, q); err != nil || !a.Ended {
		t.Errorf("the sender's retry is answered %v, %v", a, err)
	}
}
