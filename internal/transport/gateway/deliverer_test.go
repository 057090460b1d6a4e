package gateway

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The hand-written JSON of an event has the same fields as the generated code's. A client detects a large group's message, which has no
// position in its stream, by absent fields.
func TestPushedEventJSONEqualsGeneratedJSON(t *testing.T) {
	m := &chatv1.Message{Conversation: 1 << 60, Seq: 3, Sender: 5, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "\"你好\""}}}
	raw, err := proto.Marshal(&chatv1.Event{Body: &chatv1.Event_Message{Message: m}})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][2]message.Position{
		"a large group's message":  {0, 0},
		"the first of a stream":    {1<<32 + 1, 0},
		"one that follows another": {2<<32 + 1, 1<<32 + 7},
	} {
		want, err := protojson.Marshal(&chatv1.Event{Epoch: at[0].Epoch(), Seq: uint64(at[0]), Prev: uint64(at[1]), Body: &chatv1.Event_Message{Message: m}})
		if err != nil {
			t.Fatal(err)
		}
		var as, is any
		if err := json.Unmarshal(want, &as); err != nil {
			t.Fatal(err)
		}
		got, err := appendEventJSON(nil, at[0], at[1], &payload{proto: raw})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &is); err != nil || !reflect.DeepEqual(is, as) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
}

// In place of what cannot be decoded, or has no JSON form, a connection gets a hint: nothing is missing without a sign. The log says why,
// once for all connections. Other events are pushed. A transient frame is left out.
func TestUnreadableDeliveriesBecomeHints(t *testing.T) {
	notUTF8, err := proto.Marshal(&chatv1.Event{Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: 5, Seq: 3, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "~~~~"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	notUTF8 = bytes.Replace(notUTF8, []byte("~~~~"), []byte{0xff, 0xfe, 0xff, 0xfe}, 1)
	target := []message.Target{{User: 7, At: 12, Prev: 11}}
	for name, test := range map[string]struct {
		delivery message.Delivery
		json     bool
		hint     bool
	}{
		"an event that cannot be decoded":         {message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 9, 1}, Targets: target}, true, true},
		"a text that is not UTF-8":                {message.Delivery{Kind: message.DeliverEvent, Body: notUTF8, Targets: target}, true, true},
		"an entry that cannot be decoded":         {message.Delivery{Kind: message.DeliverEntry, Conversation: 5, Seq: 3, Body: []byte{0xff}, Targets: target}, false, true},
		"an entry of a large group, as well":      {message.Delivery{Kind: message.DeliverEntry, Conversation: 5, Seq: 3, Large: true, Body: []byte{0xff}}, false, true},
		"a transient frame that has no JSON form": {message.Delivery{Kind: message.DeliverFrame, Body: []byte{0x22, 9, 1}, Targets: target}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := bench(t)
			var logged bytes.Buffer
			c.server.deps.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			c.json = test.json
			c.register()
			other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller, json: test.json, state: stateReady}
			other.register()
			for _, c := range []*conn{c, other} {
				c.server.hub.follow(c, 5, 1)
			}
			event := (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: 7, At: 11, Prev: 10}}}).Append(nil)
			d := deliverer{server: c.server}
			d.deliver(append(event, test.delivery.Append(nil)...))
			for _, c := range []*conn{c, other} {
				var seqs []uint64
				hints := 0
				for list := sent(t, c); list != nil; list = sent(t, c) {
					for _, f := range list {
						if f.Hint != nil {
							hints++
						}
						for _, e := range f.Events {
							seqs = append(seqs, e.Seq)
						}
					}
				}
				if !slices.Equal(seqs, []uint64{11}) || hints > 1 || hints == 1 != test.hint {
					t.Errorf("got events %v and %d hints, want event 11 and a hint: %v", seqs, hints, test.hint)
				}
			}
			if n := bytes.Count(logged.Bytes(), []byte("level=ERROR")); n != 1 {
				t.Errorf("got %d errors in the log, want 1: %s", n, logged.Bytes())
			}
		})
	}
}

// An answer that has no JSON form is replaced by an error with the request's number, so that nobody waits for it.
func TestAnAnswerWithoutJSONIsAnError(t *testing.T) {
	c, _ := bench(t)
	c.json = true
	c.sendFrame(&gatewayv1.ServerFrame{Request: 4, Bye: &gatewayv1.Bye{Reason: "\xff"}})
	list := sent(t, c)
	if len(list) != 1 || list[0].Request != 4 || list[0].Error.GetReason() != "internal" {
		t.Errorf("got %v, want an error for request 4", list)
	}
}

// A transient frame for a large conversation reaches the connections that follow it, and no others. One with many waiting bytes does not get it.
func TestATransientFrameOfALargeConversation(t *testing.T) {
	c, _ := bench(t)
	c.register()
	other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller, state: stateReady}
	other.register()
	c.server.hub.follow(c, 5, 1)
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Streamed: []*chatv1.StreamedText{{Conversation: 5, Seq: 3, Text: "a part"}}})
	if err != nil {
		t.Fatal(err)
	}
	d := deliverer{server: c.server}
	d.deliver((&message.Delivery{Kind: message.DeliverFrame, Large: true, Conversation: 5, Body: frame}).Append(nil))
	if list := sent(t, c); len(list) != 1 || len(list[0].Streamed) != 1 || list[0].Streamed[0].Text != "a part" {
		t.Errorf("a follower got %v", list)
	}
	if list := sent(t, other); list != nil {
		t.Errorf("a connection that does not follow got %v", list)
	}
}
