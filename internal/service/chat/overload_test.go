package chat_test

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Small conversations come before larger ones under overload, users before API keys, and messages before signals.
func TestSendPriorities(t *testing.T) {
	text, key := message.AppendText(nil, "hi"), &message.Draft{Application: true, Content: message.AppendText(nil, "hi")}
	encoded, err := proto.Marshal(signal(&chatv1.Custom{}))
	must(t, err)
	notice := &message.Draft{Content: encoded}
	for _, c := range []struct {
		what    string
		members int
		channel bool
		draft   *message.Draft
		want    overload.Priority
	}{
		{"one to one", 2, false, &message.Draft{Content: text}, overload.High},
		{"a group of 99", 99, false, &message.Draft{Content: text}, overload.High},
		{"a group of 100", 100, false, &message.Draft{Content: text}, overload.Normal},
		{"a group of 1,999", 1999, false, &message.Draft{Content: text}, overload.Normal},
		{"a group of 2,000", 2000, false, &message.Draft{Content: text}, overload.Low},
		{"a channel", 1, true, &message.Draft{Content: text}, overload.Low},
		{"an API key, one to one", 2, false, key, overload.Normal},
		{"an API key in a large group", 5000, false, key, overload.Low},
		{"a signal, one to one", 2, false, notice, overload.Low},
		{"a conversation that is not loaded", -1, false, &message.Draft{Content: text}, overload.Normal},
	} {
		if got := chat.SendPriority(c.members, c.channel, c.draft); got != c.want {
			t.Errorf("%s is %v, want %v", c.what, got, c.want)
		}
	}
}

// overloaded makes a gate refuse most users, and returns one whom it refuses and one whom it does not.
func overloaded(t *testing.T, g *overload.Gate, c *manualClock, p overload.Priority) (refused, served id.User) {
	t.Helper()
	for range 40 {
		for u := range uint64(1000) {
			if g.Refuses() {
				_ = g.Admit(p, overload.Caller{User: u + 1}) // it counts what arrives
			}
		}
		c.ms.Add(300)
		for range 8 {
			g.Observe(time.Minute)
		}
	}
	for u := range uint64(1000) {
		if g.Admit(p, overload.Caller{User: u + 1}) != nil {
			refused = id.User(u + 1)
		} else {
			served = id.User(u + 1)
		}
	}
	if refused == 0 || served == 0 {
		t.Fatalf("users %d is refused and %d served", refused, served)
	}
	return refused, served
}

// What a full queue refuses at once has not waited for the log: the others have, so messages are refused before they reach the queue.
func TestAFullQueueIsNoShortWait(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	h.gate = overload.NewGate(200*time.Millisecond, h.clock, nil, overload.Processors{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	h.log = &rejectingLog{Log: h.log, refuse: math.MaxInt}
	s := h.node(t)
	for n := uint64(0); !h.gate.Refuses(); n++ {
		if n == 3200 { // one in sixteen is measured
			t.Fatal("no message is refused, although those that are stored waited for a second")
		}
		d := draftOf(c, 1, 1, "hello")
		d.Device += id.Device(n) // each of another device: none waits for an earlier one
		if err := s.Send(ctx, d); reasonOf(err) != "busy" {
			t.Fatalf("a full queue answers %v", err)
		}
		if n%100 == 99 {
			h.clock.ms.Add(300)
			for range 8 {
				h.gate.Observe(time.Second)
			}
		}
	}
}

// Under overload some users are refused and others served. A refused message and the device's later ones wait for its retry, so that they are stored in order.
func TestOverloadKeepsTheOrderOfADevice(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	h.gate = overload.NewGate(200*time.Millisecond, h.clock, nil, overload.Processors{})
	s := h.node(t)
	refused, served := overloaded(t, h.gate, h.clock, overload.High)
	c, err := s.OpenDirect(ctx, refused, served)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, served, 1, "served")))
	for n := range uint64(3) {
		if err := s.Send(ctx, draftOf(c, refused, n+1, "early")); reasonOf(err) != "busy" {
			t.Fatalf("message %d of a refused user: %v", n+1, err)
		}
	}
	for h.gate.AdmittedPart() < 1 || h.gate.Refuses() {
		h.clock.ms.Add(300)
		for range 8 {
			h.gate.Observe(0)
		}
	}
	if err := s.Send(ctx, draftOf(c, refused, 2, "second")); reasonOf(err) != "busy" {
		t.Errorf("the second message before the first: %v", err)
	}
	must(t, s.Send(ctx, draftOf(c, refused, 1, "first")))
	must(t, s.Send(ctx, draftOf(c, refused, 2, "second")))
	if n := h.gate.Refused(overload.High); n == 0 {
		t.Error("no refusal was counted")
	}
}

// Under overload a conversation and an organization whose members send most of all messages have no more than their shares, while others go on. The refusals have
// reasons of their own.
func TestACrowdHasItsShareOfTheMessages(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		of     overload.Organizations
		reason string
		share  float64
	}{
		"a conversation": {nil, "conversation_busy", 0.2},
		"an organization": {func(u uint64) []uint64 {
			if u <= 50 {
				return []uint64{7}
			}
			return nil
		}, "organization_busy", 1. / 3},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, chat.Config{})
			h.gate = overload.NewGate(200*time.Millisecond, h.clock, c.of, overload.Processors{})
			s := h.node(t)
			var groups [10]id.Conversation // of the crowd: one, or ten of the organization
			var members []uint64
			for u := range uint64(50) {
				members = append(members, u+1)
			}
			for i := range groups {
				if i > 0 && c.of == nil {
					groups[i] = groups[0]
					continue
				}
				var err error
				groups[i], err = s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "crowded", Members: members[1:]})
				must(t, err)
			}
			var quiet [20]id.Conversation
			for i := range quiet {
				var err error
				quiet[i], err = s.OpenDirect(ctx, id.User(301+2*i), id.User(302+2*i))
				must(t, err)
			}
			for n := 0; h.gate.AdmittedPart() > 0.9 && n < 40; n++ { // until most of the excess is refused
				for i := range uint64(60) {
					if h.gate.Refuses() { // it counts what arrives
						_ = h.gate.Admit(overload.High, overload.Caller{User: 1 + i%50, Conversation: uint64(groups[i%10])})
						_ = h.gate.Admit(overload.High, overload.Caller{User: 1000 + i%50, Conversation: 1000 + i%50})
					}
				}
				h.clock.ms.Add(300)
				for range 8 {
					h.gate.Observe(time.Duration(n+1) * time.Minute)
				}
			}
			stored, reasons := [2]int{}, map[string]int{}
			send := func(crowd, n int, to id.Conversation, from id.User) error {
				d := draftOf(to, from, 0, "x")
				d.ClientMsgID = strconv.Itoa(n)
				err := s.Send(ctx, d)
				if err == nil {
					stored[crowd]++
				}
				return err
			}
			for i := range 300 {
				if err := send(0, i, groups[i%10], id.User(1+i%50)); err != nil {
					reasons[reasonOf(err)]++
					if e := errs.Of(err); e.Kind != errs.Exhausted || e.Retry < time.Second {
						t.Errorf("a message is refused: %v", err)
					}
				}
				must(t, send(1, i, quiet[i%20], id.User(301+2*(i%20))))
			}
			if part := float64(stored[0]) / float64(stored[0]+stored[1]); part > c.share+0.05 || part < c.share-0.05 || reasons[c.reason] != 300-stored[0] {
				t.Errorf("the crowd has a part of %.2f, want about %.2f; refused are %v", part, c.share, reasons)
			}
		})
	}
}
