package where

import (
	"os"
	"strings"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// example is the trace of docs/operating/trace.md: a message that has reached one of three devices.
func example() *chatv1.MessageTrace {
	const at = 1_795_788_187_123_000
	step := func(kind chatv1.TraceStepKind, us int64, node string) *chatv1.TraceStep {
		return &chatv1.TraceStep{Kind: kind, TimeUs: at + us, Node: node}
	}
	accepted, fannedOut := step(chatv1.TraceStepKind_TRACE_STEP_KIND_ACCEPTED, 0, "node-1"), step(chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT, 2900, "node-2")
	fannedOut.Count = 2
	pushed := step(chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED, 3400, "node-3")
	pushed.Count = 1
	pushedTo, confirmed := step(chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED, 3400, "node-3"), step(chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED, 612_000, "node-3")
	pushedTo.Device, confirmed.Device = 249795416684494849, 249795416684494849
	notified := step(chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED, 45_200_000, "node-2")
	notified.Device, notified.Detail = 7, "sent 201"
	return &chatv1.MessageTrace{Id: "F3ZM-VZDF-A226-2222", Conversation: 249795416680300544, Seq: 41, Kind: chatv1.ConversationKind_CONVERSATION_KIND_DIRECT, Sender: 249795416420253696, Device: 249795416437030913,
		FanOut: chatv1.TraceFanOut_TRACE_FAN_OUT_DONE, Partition: 17, Owner: "node-2",
		Steps: []*chatv1.TraceStep{accepted, step(chatv1.TraceStepKind_TRACE_STEP_KIND_COMMITTED, 2100, "node-1"), fannedOut, pushed},
		Members: []*chatv1.TracedMember{
			{User: 249795416420253696, InStream: chatv1.TraceInStream_TRACE_IN_STREAM_YES, Position: &chatv1.Position{Epoch: 1, Seq: 4294967311}, Delivered: true, Read: true,
				Devices: []*chatv1.TracedDevice{{Device: 249795416437030913, Type: "web", Confirmed: true}}, Steps: []*chatv1.TraceStep{step(chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT, 2900, "node-2"), {Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED, Device: 249795416437030913}}},
			{User: 249795416684494848, InStream: chatv1.TraceInStream_TRACE_IN_STREAM_YES, Position: &chatv1.Position{Epoch: 1, Seq: 4294967299}, Delivered: true,
				Devices: []*chatv1.TracedDevice{{Device: 249795416684494849, Type: "web", Confirmed: true}, {Device: 249795416684494850, Type: "ios"}},
				Steps:   []*chatv1.TraceStep{step(chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT, 2900, "node-2"), pushedTo, confirmed, notified}}},
		Nodes: []*chatv1.TracedNode{
			{Name: "node-1", State: chatv1.TracedNodeState_TRACED_NODE_STATE_READ, MessagesSinceMs: at/1000 - 2_600_000, DevicesSinceMs: at/1000 - 1_200_000},
			{Name: "node-2", State: chatv1.TracedNodeState_TRACED_NODE_STATE_READ, MessagesSinceMs: at/1000 - 2_400_000, DevicesSinceMs: at/1000 - 1_100_000},
			{Name: "node-3", State: chatv1.TracedNodeState_TRACED_NODE_STATE_READ, MessagesSinceMs: at/1000 - 2_500_000, DevicesSinceMs: at/1000 - 1_000_000},
			{Name: "node-4", State: chatv1.TracedNodeState_TRACED_NODE_STATE_GONE, GoneMs: at/1000 - 7_000_000},
		}}
}

// The page of the operators shows what the command prints.
func TestTheExampleIsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(Text(example(), time.UTC)) {
		if line != "\n" {
			want.WriteString("    ")
		}
		want.WriteString(line)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/operating/trace.md lacks this example:\n%s", want.String())
	}
}

// What is wrong is said in words that one can search for.
func TestWhatIsWrongIsSaid(t *testing.T) {
	trace := example()
	trace.Owner, trace.FanOut, trace.Cold, trace.Control = "", chatv1.TraceFanOut_TRACE_FAN_OUT_PENDING, true, true
	trace.Members[1].InStream = chatv1.TraceInStream_TRACE_IN_STREAM_NO
	trace.Members[0].InStream = chatv1.TraceInStream_TRACE_IN_STREAM_NOT_SEARCHED
	trace.Nodes[1].State, trace.Nodes[2].DevicesSinceMs = chatv1.TracedNodeState_TRACED_NODE_STATE_NO_ANSWER, 1_795_788_187_124
	trace.Nodes[0].State, trace.Next = chatv1.TracedNodeState_TRACED_NODE_STATE_OFF, "249795416684494848"
	trace.Members[1].Steps[3].Detail = "retry 503: \x1b[31mred"
	text := Text(trace, time.UTC)
	for _, part := range []string{"control entry", "NO NODE", "PENDING", "cold tier", "NOT in the stream", "not among the latest 512", "message_trace.off", "node-2 does not answer", "times may be missing", "more with --page 249795416684494848", "retry 503"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("a text of others controls the terminal: %q", text)
	}
	trace.Large = true
	if text := Text(trace, time.UTC); !strings.Contains(text, "large direct") || !strings.Contains(text, "2 nodes") {
		t.Errorf("of a large group it says:\n%s", text)
	}
}
