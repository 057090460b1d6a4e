package streamedmessage_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Who may stop a message stops it, and its sender is told. The text that was written stays, and is marked.
func TestAReaderStopsAMessage(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "so far")
	if _, err := n.stop(o, id.Caller{User: 77}, seq); reason(err) != "no_conversation" {
		t.Errorf("somebody else stops it: %v", err)
	}
	a, err := n.stop(o, bob, seq)
	if err != nil || a.BrokenOff.GetBy() != uint64(bob.User) {
		t.Fatalf("a stop is answered %v, %v", a, err)
	}
	n.isBrokenOff(n.read(o, ann, seq).Content, "so far", chatv1.BrokenOff_CAUSE_STOPPED)
	if told := o.pushes(bot.User); len(told) != 1 || !told[0].Ended || told[0].Seq != seq {
		t.Errorf("the sender was pushed %v", told)
	}
	if r := n.write(o, seq, 6, " more"); !r.Ended {
		t.Errorf("a part after the stop is answered %v", r)
	}
	if again, err := n.end(o, seq, "so far and more"); err != nil || again.EditSeq != a.EditSeq || again.BrokenOff.GetCause() != chatv1.BrokenOff_CAUSE_STOPPED {
		t.Errorf("an end after the stop is answered %v, %v", again, err)
	}
	for who, c := range map[chatv1.WhoMayStop][2]string{
		chatv1.WhoMayStop_WHO_MAY_STOP_ADMINS: {"not_allowed", ""}, chatv1.WhoMayStop_WHO_MAY_STOP_NOBODY: {"not_allowed", "not_allowed"},
	} {
		s, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: who.String(), WhoMayStop: who})
		n.must(err)
		for i, by := range []id.Caller{bob, ann} {
			if _, err := n.stop(o, by, s.Seq); reason(err) != c[i] {
				t.Errorf("%v: user %d stops it: %v", who, by.User, err)
			}
		}
		if _, err := n.stop(o, bot, s.Seq); err != nil {
			t.Errorf("%v: the sender stops it: %v", who, err)
		}
	}
}

// An end and stops at the same moment: the log has one of them, and all are answered with that.
func TestAnEndRacesWithStops(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{MaxPerUser: 1000})
	o := n.list[0]
	for i := range 20 {
		seq := n.start(o, fmt.Sprint(i))
		n.write(o, seq, 0, "half")
		answers := make([]*chatv1.EndStreamedMessageResponse, 3)
		var calls sync.WaitGroup
		for c, call := range []func() (*chatv1.EndStreamedMessageResponse, error){
			func() (*chatv1.EndStreamedMessageResponse, error) { return n.end(o, seq, "half and half") },
			func() (*chatv1.EndStreamedMessageResponse, error) { return n.stop(o, ann, seq) },
			func() (*chatv1.EndStreamedMessageResponse, error) { return n.stop(o, bob, seq) },
		} {
			calls.Go(func() {
				a, err := call()
				if answers[c] = a; err != nil {
					t.Errorf("call %d: %v", c, err)
				}
			})
		}
		calls.Wait()
		ends := n.ends(seq)
		if len(ends) != 1 {
			t.Fatalf("the log has the ends %v", ends)
		}
		c := n.read(o, ann, seq).Content
		if whole := c.GetText() == "half and half" && c.BrokenOff == nil; !whole {
			n.isBrokenOff(c, "half", chatv1.BrokenOff_CAUSE_STOPPED)
		}
		for k, a := range answers {
			if !proto.Equal(a.GetBrokenOff(), c.BrokenOff) {
				t.Errorf("call %d is answered %v, and the message is %v", k, a, c)
			}
		}
	}
}

// A sender that says it cannot go on, and one that says nothing any more, leave a marked message.
func TestASenderThatDoesNotGoOn(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{IdleTimeout: time.Minute})
	o := n.list[0]
	failed, idle := n.start(o, "1"), n.start(o, "2")
	n.write(o, failed, 0, "I was")
	n.write(o, idle, 0, "and so")
	if a, err := o.End(context.Background(), bot, &chatv1.EndStreamedMessageRequest{Conversation: uint64(n.group), Seq: failed, Failed: true}); err != nil || a.BrokenOff.GetCause() != chatv1.BrokenOff_CAUSE_FAILED {
		t.Errorf("a failure is answered %v, %v", a, err)
	}
	n.isBrokenOff(n.read(o, bob, failed).Content, "I was", chatv1.BrokenOff_CAUSE_FAILED)
	for _, q := range []*chatv1.EndStreamedMessageRequest{{}, {Failed: true, Length: 3}, {Failed: true, Content: textOf("x")}} {
		if q.Conversation, q.Seq = uint64(n.group), idle; len(n.ends(idle)) > 0 {
			t.Fatal("the message has ended")
		}
		if _, err := o.End(context.Background(), bot, q); reason(err) != "bad_end" {
			t.Errorf("%v: error %v, want the reason bad_end", q, err)
		}
	}
	n.pass(time.Minute)
	n.write(o, idle, 6, " on") // in time
	n.pass(time.Minute)
	o.Renew(context.Background())
	if n.rows() != 1 {
		t.Fatal("a message was broken off whose sender has gone on")
	}
	n.pass(time.Second)
	o.Renew(context.Background())
	n.isBrokenOff(n.read(o, bob, idle).Content, "and so on", chatv1.BrokenOff_CAUSE_LOST)
}

// From its removal on, a sender adds nothing: what it wrote later is neither pushed nor stored.
func TestARemovedSenderCannotGoOn(t *testing.T) {
	for what, finish := range map[string]func(n *nodes, o *node, seq uint64){
		"a push":    func(n *nodes, o *node, _ uint64) { n.push(o) },
		"a stop":    func(n *nodes, o *node, seq uint64) { _, err := n.stop(o, bob, seq); n.must(err) },
		"a failure": func(n *nodes, o *node, seq uint64) { n.pass(time.Hour); o.Renew(context.Background()) },
		"the end": func(n *nodes, o *node, seq uint64) {
			if _, err := n.end(o, seq, "allowed, and more"); reason(err) != "no_conversation" {
				n.t.Errorf("the end of a removed sender: %v", err)
			}
			n.push(o)
		},
	} {
		n := newNodes(t, 1, streamedmessage.Config{})
		o := n.list[0]
		seq := n.start(o, "1")
		n.write(o, seq, 0, "allowed")
		n.push(o)
		o.pushes(bob.User)
		_, err := o.chat.Remove(context.Background(), n.group, ann.User, []uint64{uint64(bot.User)})
		n.must(err)
		n.write(o, seq, 7, ", and more")
		finish(n, o, seq)
		if got := o.pushes(bob.User); len(got) != 0 {
			t.Errorf("%s: a reader was pushed %v", what, got)
		}
		c := n.read(o, bob, seq).Content
		if c.GetText() != "allowed" || c.BrokenOff == nil {
			t.Errorf("%s: the message is %v", what, c)
		}
		if _, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(n.group), ClientMsgId: "2"}); reason(err) != "no_conversation" {
			t.Errorf("%s: a start of a removed sender: %v", what, err)
		}
	}
}

// A recall ends a message: nothing more is accepted, pushed or read, and the end that was under way changes nothing.
func TestARecallEndsAMessage(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	n.write(o, seq, 0, "a secret")
	n.push(o)
	n.write(o, seq, 8, " of all")
	o.pushes(bob.User)
	recall, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
	n.must(err)
	n.must(o.chat.Send(context.Background(), &message.Draft{Conversation: n.group, Sender: ann.User, ClientMsgID: "recall", Content: recall}))
	n.push(o)
	if got := o.pushes(bob.User); len(got) != 0 {
		t.Errorf("after the recall, a reader was pushed %v", got)
	}
	if r := n.write(o, seq, 15, "!"); !r.Ended || r.Reason != "recalled" {
		t.Errorf("a part after the recall is answered %v", r)
	}
	if _, err := n.end(o, seq, "a secret of all"); reason(err) != "recalled" {
		t.Errorf("an end after the recall: %v", err)
	}
	if _, err := o.Get(context.Background(), bob, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); reason(err) != "recalled" {
		t.Errorf("the text so far of a recalled message: %v", err)
	}
	if m := n.read(o, bob, seq); m.Content != nil || m.RecallSeq == 0 || n.rows() != 0 {
		t.Errorf("the message is %v, and %d rows are there", m, n.rows())
	}
}

// Who joins after a message was started reads nothing of it.
func TestAMemberWhoJoinedLaterIsPushedNothing(t *testing.T) {
	n := newNodes(t, 1, streamedmessage.Config{})
	o := n.list[0]
	seq := n.start(o, "1")
	later := id.Caller{User: 5}
	_, err := o.chat.Invite(context.Background(), n.group, ann.User, []uint64{uint64(later.User)})
	n.must(err)
	n.write(o, seq, 0, "before your time")
	n.push(o)
	if got := o.pushes(later.User); len(got) != 0 || len(o.pushes(bob.User)) != 1 {
		t.Errorf("who joined later was pushed %v", got)
	}
	if _, err := o.Get(context.Background(), later, &chatv1.GetStreamedMessageRequest{Conversation: uint64(n.group), Seq: seq}); reason(err) != "no_message" {
		t.Errorf("who joined later asks for the text: %v", err)
	}
}
