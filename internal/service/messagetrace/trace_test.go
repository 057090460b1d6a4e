package messagetrace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// record adds a record to a node, some milliseconds after the message.
func (n *nodes) record(on string, ms int64, r flightrecorder.Record) {
	r.AtUs = n.clock.Now().UnixMicro() + ms*1000
	n.list[on].recorder.Add(r)
}

// commit records that a node committed the message at a seq.
func (n *nodes) commit(on string, m id.Message, seq uint64) {
	hi := uint64(0)
	for _, b := range m[:8] {
		hi = hi<<8 | uint64(b)
	}
	n.record(on, 1, flightrecorder.Record{Kind: flightrecorder.Committed, Conversation: uint64(group), Seq: seq, User: hi})
}

func partitionBit(u id.User) uint64 {
	return 1 << timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}.Partition()
}

// received makes the stores say that all members have a message at position 100, on device 20 of bob.
func (n *nodes) received() {
	n.facts.inbox = func(u id.User) *chatv1.TracedMember {
		m := &chatv1.TracedMember{InStream: chatv1.TraceInStream_TRACE_IN_STREAM_YES, Position: &chatv1.Position{Epoch: 1, Seq: 100}}
		if u == bob {
			m.Delivered, m.Read = true, true
			m.Devices = []*chatv1.TracedDevice{{Device: 20, Type: "web", Confirmed: true}, {Device: 21, Type: "ios"}}
		}
		return m
	}
}

// Each node knows a part of what happened, and each answers with the whole: by the message's id, and by its place.
func TestNodesAnswerTogether(t *testing.T) {
	n := open(t, "a", "b", "c")
	m := n.append(1, false)[0]
	n.received()
	n.commit("b", m, 1)
	n.record("a", 2, flightrecorder.Record{Kind: flightrecorder.Posted, Conversation: uint64(group), Seq: 1, User: 2, Device: partitionBit(ann) | partitionBit(bob)})
	n.record("c", 3, flightrecorder.Record{Kind: flightrecorder.Posted, Conversation: uint64(group), Seq: 1, User: 1, Device: partitionBit(cem)})
	n.record("b", 4, flightrecorder.Record{Kind: flightrecorder.Pushed, Conversation: uint64(group), Seq: 1, User: uint64(ann), Device: 10})
	n.record("c", 5, flightrecorder.Record{Kind: flightrecorder.Pushed, Conversation: uint64(group), Seq: 1, User: uint64(bob), Device: 20})
	n.record("c", 6, flightrecorder.Record{Kind: flightrecorder.Pushed, Conversation: uint64(group), Seq: 2, User: uint64(bob), Device: 20})
	n.record("a", 7, flightrecorder.Record{Kind: flightrecorder.Acknowledged, Seq: 99, User: uint64(bob), Device: 20})
	n.record("c", 8, flightrecorder.Record{Kind: flightrecorder.Acknowledged, Seq: 101, User: uint64(bob), Device: 20})
	n.record("b", 9, flightrecorder.Record{Kind: flightrecorder.Acknowledged, Seq: 102, User: uint64(bob), Device: 20})
	n.record("a", 10, flightrecorder.Record{Kind: flightrecorder.Read, Conversation: uint64(group), Seq: 1, User: uint64(bob)})
	n.record("a", 11, flightrecorder.Record{Kind: flightrecorder.Read, Conversation: uint64(group), Seq: 2, User: uint64(bob)})
	for _, node := range n.names {
		for _, r := range []*chatv1.TraceMessageRequest{{Id: m.String()}, {Conversation: uint64(group), Seq: 1}, {Id: m.String(), Conversation: uint64(group)}} {
			out := n.trace(node, r)
			if out.Id != m.String() || out.Conversation != uint64(group) || out.Seq != 1 || out.Sender != uint64(ann) || out.Device != 10 || out.FanOut != chatv1.TraceFanOut_TRACE_FAN_OUT_DONE || len(out.Members) != 3 {
				t.Fatalf("%s answers %v with %v", node, r, out)
			}
			n.tells(node, out.Steps, "ACCEPTED@b 10", "COMMITTED@b", "FANNED_OUT@a×2", "FANNED_OUT@c×1", "PUSHED@b×1", "PUSHED@c×1")
			n.tells(node+" of ann", out.Members[0].Steps, "FANNED_OUT@a", "PUSHED@b 10")
			n.tells(node+" of bob", out.Members[1].Steps, "FANNED_OUT@a", "PUSHED@c 20", "CONFIRMED@c 20", "READ@a")
			n.tells(node+" of cem", out.Members[2].Steps, "FANNED_OUT@c")
			for _, v := range out.Nodes {
				if v.State != chatv1.TracedNodeState_TRACED_NODE_STATE_READ || v.MessagesSinceMs != n.clock.Now().UnixMilli() || len(out.Nodes) != 3 {
					t.Errorf("%s says of the nodes %v", node, out.Nodes)
				}
			}
			if text, err := protojson.Marshal(out); err != nil || strings.Contains(string(text), "secret") {
				t.Errorf("the content is shown: %s, %v", text, err)
			}
		}
	}
}

// A node that does not answer, one that is gone, and one that records nothing are named, and the others answer. What the stores know is shown all
// the same, without times.
func TestMissingNodesAreNamed(t *testing.T) {
	n := open(t, "a", "b", "c", "d")
	m := n.append(1, false)[0]
	n.received()
	for _, o := range n.list {
		o.NodesChanged(append([]string{"e"}, n.names...))
	}
	n.commit("b", m, 1)
	n.record("c", 2, flightrecorder.Record{Kind: flightrecorder.Posted, Conversation: uint64(group), Seq: 1, User: 3, Device: partitionBit(ann) | partitionBit(bob) | partitionBit(cem)})
	n.clock.Advance(time.Minute)
	n.list["b"].stop() // killed: it is still in the list of nodes
	n.list["d"].stop()
	n.start("d", flightrecorder.Config{Off: true})
	n.list["a"].NodesChanged(n.names)
	out := n.trace("a", &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 1})
	var states []string
	for _, v := range out.Nodes {
		states = append(states, v.Name+" "+strings.TrimPrefix(v.State.String(), "TRACED_NODE_STATE_"))
	}
	if got := strings.Join(states, ", "); got != "a READ, b NO_ANSWER, c READ, d OFF, e GONE" {
		t.Errorf("the nodes are %s, want a READ, b NO_ANSWER, c READ, d OFF, e GONE", got)
	}
	if out.Nodes[4].GoneMs != n.clock.Now().UnixMilli() {
		t.Errorf("e is gone since %d", out.Nodes[4].GoneMs)
	}
	n.tells("without b", out.Steps, "ACCEPTED@ 10", "FANNED_OUT@c×3", "COMMITTED@ ?")
	n.tells("bob", out.Members[1].Steps, "FANNED_OUT@c", "CONFIRMED@ 20 ?", "READ@ ?")
	n.clock.Advance(25 * time.Hour)
	if list := n.trace("a", &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 1}).Nodes; len(list) != 4 {
		t.Errorf("a day later the nodes are %v", list)
	}
}

// Nobody remembers a message: its id is found by the event streams, and by its conversation.
func TestOldMessagesAreFound(t *testing.T) {
	n := open(t, "a")
	var all []id.Message
	posts := []timeline.Post{}
	for range 40 {
		n.clock.Advance(time.Minute)
		for _, m := range n.append(10, false) {
			all = append(all, m)
			posts = append(posts, timeline.Post{Key: timeline.EventStream(timeline.Key{Kind: timeline.Conversation, ID: uint64(group)}.Partition()), Payload: message.AppendInboxRef(nil, group, uint64(len(all)))})
		}
	}
	if err := n.log.Post(context.Background(), posts); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 9, 10, 203, 398, 399} {
		for _, c := range []uint64{0, uint64(group)} {
			if out := n.trace("a", &chatv1.TraceMessageRequest{Id: all[i].String(), Conversation: c}); out.Seq != uint64(i+1) || out.Id != all[i].String() {
				t.Errorf("message %d was found as %d, %s", i+1, out.Seq, out.Id)
			}
		}
	}
	if out := n.trace("a", &chatv1.TraceMessageRequest{Id: strings.ToLower(all[9].String())}); out.Seq != 10 {
		t.Errorf("message 10, in lower case, was found as %d", out.Seq)
	}
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(group)}
	if err := n.log.Expire(context.Background(), key, 300, nil); err != nil { // the streams still name them
		t.Fatal(err)
	}
	if out := n.trace("a", &chatv1.TraceMessageRequest{Id: all[350].String()}); out.Seq != 351 {
		t.Errorf("a message after those that expired was found as %d", out.Seq)
	}
	for what, test := range map[string]struct {
		r    *chatv1.TraceMessageRequest
		want string
		says string
	}{
		"expired":                        {&chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 299}, "no_message", "entries from 300 on"},
		"expired, by its id":             {&chatv1.TraceMessageRequest{Id: all[0].String()}, "no_message", "Name its conversation"},
		"expired, in its conversation":   {&chatv1.TraceMessageRequest{Id: all[0].String(), Conversation: uint64(group)}, "no_message", "expired"},
		"beyond the end":                 {&chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 401}, "no_message", "last entry is 400"},
		"at another seq":                 {&chatv1.TraceMessageRequest{Id: all[399].String(), Seq: 399}, "no_message", "seq 400"},
		"no such conversation":           {&chatv1.TraceMessageRequest{Conversation: 8, Seq: 1}, "no_conversation", ""},
		"of another conversation":        {&chatv1.TraceMessageRequest{Id: all[399].String(), Conversation: uint64(group) + 1}, "no_message", "not of a message"},
		"never sent":                     {&chatv1.TraceMessageRequest{Id: id.MessageOf(n.clock.Now().UnixMilli(), 4000, 2, group).String()}, "no_message", "no node remembers"},
		"an id with a typing error":      {&chatv1.TraceMessageRequest{Id: "BD8U-FCQJ-LDC5-L780"}, "bad_id", "character 19"},
		"nothing":                        {&chatv1.TraceMessageRequest{Seq: 3}, "bad_id", "conversation and seq"},
		"a page that is none":            {&chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 400, Page: "x"}, "bad_page", ""},
		"a user who does not receive it": {&chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 400, User: 77}, "no_user", "user 77"},
	} {
		_, err := n.list["a"].Trace(context.Background(), auditor, test.r)
		if reason(err) != test.want || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%s: error %v, want %s with %q", what, err, test.want, test.says)
		}
	}
	if _, err := n.list["a"].Trace(context.Background(), id.Caller{Server: true}, &chatv1.TraceMessageRequest{Id: all[350].String()}); reason(err) != "no_audit" {
		t.Errorf("without the permission: %v", err)
	}
}

func TestPendingAndQuarantinedFanOut(t *testing.T) {
	n := open(t, "a")
	n.append(2, true)
	r := &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 2}
	if out := n.trace("a", r); out.FanOut != chatv1.TraceFanOut_TRACE_FAN_OUT_PENDING {
		t.Errorf("before the fan-out, it is %v", out.FanOut)
	}
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(group)}
	n.facts.quarantined = []timeline.Ref{{Key: key, From: 2, To: 2}}
	if out := n.trace("a", r); out.FanOut != chatv1.TraceFanOut_TRACE_FAN_OUT_QUARANTINED {
		t.Errorf("in quarantine, the fan-out is %v", out.FanOut)
	}
	n.facts.quarantined = nil
	records, err := n.log.FanoutRecords(context.Background(), key.Partition(), 0, 10)
	if err != nil || len(records) == 0 {
		t.Fatalf("records %v, want at least one; error %v", records, err)
	}
	if err := n.log.Acquire(context.Background(), key.Partition(), 1); err != nil {
		t.Fatal(err)
	}
	if err := n.log.PutCheckpoint(context.Background(), key.Partition(), records[len(records)-1].Seq); err != nil {
		t.Fatal(err)
	}
	if out := n.trace("a", r); out.FanOut != chatv1.TraceFanOut_TRACE_FAN_OUT_DONE {
		t.Errorf("after the fan-out, it is %v", out.FanOut)
	}
}

// Members come in pages, and one alone.
func TestMembersInPages(t *testing.T) {
	n := open(t, "a")
	n.append(1, false)
	n.facts.members = nil
	for u := range 450 {
		n.facts.members = append(n.facts.members, id.User(u+1))
	}
	for limit, want := range map[uint32]int{0: 50, 7: 7, 200: 200, 1000: 200} {
		r := &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 1, Limit: limit}
		var seen []uint64
		for {
			out := n.trace("a", r)
			if len(out.Members) > want || out.Next != "" && len(out.Members) != want {
				t.Fatalf("limit %d: a page has %d members", limit, len(out.Members))
			}
			for _, m := range out.Members {
				seen = append(seen, m.User)
			}
			if r.Page = out.Next; r.Page == "" {
				break
			}
		}
		if len(seen) != 450 || seen[0] != 1 || seen[449] != 450 {
			t.Errorf("limit %d: %d members", limit, len(seen))
		}
	}
	if out := n.trace("a", &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 1, User: 300}); len(out.Members) != 1 || out.Members[0].User != 300 || out.Next != "" {
		t.Errorf("one member: %v", out.Members)
	}
}

// In a large group, pushes are counted for each node, and reads shown.
func TestLargeGroups(t *testing.T) {
	n := open(t, "a", "b")
	n.facts.large = true
	m := n.append(1, false)[0]
	n.commit("a", m, 1)
	n.record("a", 2, flightrecorder.Record{Kind: flightrecorder.Broadcast, Conversation: uint64(group), Seq: 1, User: 2})
	n.record("a", 3, flightrecorder.Record{Kind: flightrecorder.PushedToFollowers, Conversation: uint64(group), Seq: 1, User: 300})
	n.record("b", 4, flightrecorder.Record{Kind: flightrecorder.PushedToFollowers, Conversation: uint64(group), Seq: 1, User: 12_000})
	n.record("b", 5, flightrecorder.Record{Kind: flightrecorder.Read, Conversation: uint64(group), Seq: 9, User: uint64(bob)})
	out := n.trace("b", &chatv1.TraceMessageRequest{Id: m.String()})
	if !out.Large {
		t.Error("the group is not large")
	}
	n.tells("the group", out.Steps, "ACCEPTED@a 10", "COMMITTED@a", "FANNED_OUT@a×2", "PUSHED@a×300", "PUSHED@b×12000")
	n.tells("bob", out.Members[1].Steps, "READ@b")
}

// An attempt of a push notification gets its node from whoever made it.
func TestPushNotifications(t *testing.T) {
	n := open(t, "a", "b")
	n.append(1, false)
	at := n.clock.Now().UnixMicro()
	n.facts.attempts = map[id.User][]*chatv1.TraceStep{bob: {
		{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED, TimeUs: at + 5000, Device: 7, Detail: "retry 503"},
		{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED, TimeUs: at + 9000, Device: 7, Detail: "sent 201"},
		{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED, TimeUs: at + 9000, Device: 8, Detail: "sent 201"}}}
	n.record("a", 6, flightrecorder.Record{Kind: flightrecorder.Notified, Conversation: uint64(group), Seq: 1, User: uint64(bob), Device: 7})
	n.record("b", 10, flightrecorder.Record{Kind: flightrecorder.Notified, Conversation: uint64(group), Seq: 1, User: uint64(bob), Device: 7})
	n.tells("bob", n.trace("a", &chatv1.TraceMessageRequest{Conversation: uint64(group), Seq: 1}).Members[1].Steps, "NOTIFIED@a 7", "NOTIFIED@b 7", "NOTIFIED@ 8")
}
