package where

import (
	"fmt"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/printable"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// writer builds the text of a trace.
type writer struct {
	strings.Builder
	zone  *time.Location
	trace *chatv1.MessageTrace
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// Text returns a trace for people.
func Text(t *chatv1.MessageTrace, zone *time.Location) string {
	w := &writer{zone: zone, trace: t}
	w.heading()
	w.WriteByte('\n')
	w.steps(t.Steps, "  ")
	w.members()
	w.unknown()
	return w.String()
}

func (w *writer) heading() {
	t := w.trace
	what := "message"
	switch {
	case t.Control:
		what = "control entry"
	case t.Updates != 0:
		what = fmt.Sprintf("update of entry %d", t.Updates)
	}
	w.line("%s %s", what, t.Id)
	kind := strings.ToLower(strings.TrimPrefix(t.Kind.String(), "CONVERSATION_KIND_"))
	if t.Large {
		kind = "large " + kind
	}
	sender := "the server"
	if t.Sender != 0 {
		sender = fmt.Sprintf("user %d", t.Sender)
	}
	if t.Device != 0 {
		sender += fmt.Sprintf(", device %d", t.Device)
	}
	w.line("  conversation %d (%s), seq %d, from %s", t.Conversation, kind, t.Seq, sender)
	if t.Cold {
		w.line("  moved to the cold tier")
	}
	owner := t.Owner
	if owner == "" {
		owner = "NO NODE: its fan-out waits until a node takes it"
	}
	w.line("  partition %d, of %s; fan-out: %s", t.Partition, owner, map[chatv1.TraceFanOut]string{
		chatv1.TraceFanOut_TRACE_FAN_OUT_DONE: "done", chatv1.TraceFanOut_TRACE_FAN_OUT_PENDING: "PENDING",
		chatv1.TraceFanOut_TRACE_FAN_OUT_QUARANTINED: "QUARANTINED, since stored data is corrupt; see the logs"}[t.FanOut])
}

var stepNames = map[chatv1.TraceStepKind]string{
	chatv1.TraceStepKind_TRACE_STEP_KIND_ACCEPTED: "accepted", chatv1.TraceStepKind_TRACE_STEP_KIND_COMMITTED: "committed",
	chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT: "fanned out", chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED: "pushed",
	chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED: "confirmed", chatv1.TraceStepKind_TRACE_STEP_KIND_READ: "read",
	chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED: "notified", chatv1.TraceStepKind_TRACE_STEP_KIND_EDITED: "edited",
	chatv1.TraceStepKind_TRACE_STEP_KIND_RECALLED: "recalled",
}

// steps writes events, each with the delay after the one before.
func (w *writer) steps(list []*chatv1.TraceStep, indent string) {
	before := int64(0)
	for _, s := range list {
		at, delay := "time not known", ""
		if s.TimeUs != 0 {
			at = time.UnixMicro(s.TimeUs).In(w.zone).Format("2006-01-02 15:04:05.000")
			if before != 0 {
				delay = "+" + delayOf(s.TimeUs-before)
			}
			before = s.TimeUs
		}
		w.line("%s", strings.TrimRight(fmt.Sprintf("%s%-23s %9s  %-10s  %-12s %s", indent, at, delay, stepNames[s.Kind], nodeOf(s), w.detail(s)), " "))
	}
}

func nodeOf(s *chatv1.TraceStep) string {
	if s.Node == "" {
		return "-"
	}
	return printable.Line(s.Node)
}

// delayOf is a duration in microseconds with two or three digits.
func delayOf(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func (w *writer) detail(s *chatv1.TraceStep) string {
	switch s.Kind {
	case chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT:
		if s.Count > 0 && w.trace.Large {
			return plural(s.Count, "node")
		}
		return plural(s.Count, "stream")
	case chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED, chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED:
		if s.Device != 0 {
			return w.device(s.Device)
		}
		return plural(s.Count, "connection")
	case chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED:
		return fmt.Sprintf("push subscription %d: %s", s.Device, printable.Line(s.Detail))
	case chatv1.TraceStepKind_TRACE_STEP_KIND_RECALLED:
		return fmt.Sprintf("by user %d", s.User)
	}
	return ""
}

func plural(n uint32, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// device names a device, with its type if a member shown has it.
func (w *writer) device(d uint64) string {
	for _, m := range w.trace.Members {
		for _, v := range m.Devices {
			if v.Device == d && v.Type != "" {
				return fmt.Sprintf("device %d (%s)", d, printable.Line(v.Type))
			}
		}
	}
	return fmt.Sprintf("device %d", d)
}

func (w *writer) members() {
	t := w.trace
	delivered, read := 0, 0
	for _, m := range t.Members {
		if m.User == t.Sender {
			continue
		}
		if m.Delivered || hasConfirmed(m) {
			delivered++
		}
		if m.Read {
			read++
		}
	}
	w.WriteByte('\n')
	more := ""
	if t.Next != "" {
		more = "; more with --page " + t.Next
	}
	switch {
	case t.Large:
		w.line("%s here, with the sender if shown; others who read it: %d%s", plural(uint32(len(t.Members)), "member"), read, more)
	default:
		w.line("%s here, with the sender if shown; others who have it: %d, who read it: %d%s", plural(uint32(len(t.Members)), "member"), delivered, read, more)
	}
	for _, m := range t.Members {
		w.member(m)
	}
}

func hasConfirmed(m *chatv1.TracedMember) bool {
	for _, d := range m.Devices {
		if d.Confirmed {
			return true
		}
	}
	return false
}

func (w *writer) member(m *chatv1.TracedMember) {
	sender := ""
	if m.User == w.trace.Sender {
		sender = " (sender)"
	}
	stream := map[chatv1.TraceInStream]string{chatv1.TraceInStream_TRACE_IN_STREAM_NO: "NOT in the stream", chatv1.TraceInStream_TRACE_IN_STREAM_NOT_SEARCHED: "not among the latest 512 entries of the stream"}[m.InStream]
	if m.InStream == chatv1.TraceInStream_TRACE_IN_STREAM_YES {
		stream = fmt.Sprintf("position %d of the stream", m.Position.GetSeq())
	}
	if w.trace.Large && !m.Read {
		stream = "not read"
	}
	w.line("%s", strings.TrimRight(fmt.Sprintf("  user %d%s  %s", m.User, sender, stream), " "))
	w.steps(m.Steps, "    ")
	for _, d := range m.Devices {
		if !d.Confirmed {
			w.line("    not confirmed by %s", w.device(d.Device))
		}
	}
}

// unknown says what is not known, and why.
func (w *writer) unknown() {
	t := w.trace
	w.WriteByte('\n')
	committed := int64(0)
	for _, s := range t.Steps {
		if s.Kind == chatv1.TraceStepKind_TRACE_STEP_KIND_ACCEPTED {
			committed = s.TimeUs / 1000
		}
	}
	for _, n := range t.Nodes {
		name := printable.Line(n.Name)
		switch n.State {
		case chatv1.TracedNodeState_TRACED_NODE_STATE_NO_ANSWER:
			w.line("%s does not answer: what it did with the message is not shown", name)
		case chatv1.TracedNodeState_TRACED_NODE_STATE_OFF:
			w.line("%s remembers nothing (message_trace.off)", name)
		case chatv1.TracedNodeState_TRACED_NODE_STATE_GONE:
			w.line("%s is not in the cluster since about %s: what it remembered is lost", name, w.time(n.GoneMs))
		default:
			older := ""
			if committed < max(n.MessagesSinceMs, n.DevicesSinceMs) {
				older = ", which is after the message was accepted: times may be missing"
			}
			w.line("%s remembers commits and fan-out since %s, devices since %s%s", name, w.time(n.MessagesSinceMs), w.time(n.DevicesSinceMs), older)
		}
	}
}

func (w *writer) time(ms int64) string {
	return time.UnixMilli(ms).In(w.zone).Format("2006-01-02 15:04:05")
}
