package apptest_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/platform/otlp/otlptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// traced starts a server that traces everything, and what receives its traces.
func traced(t *testing.T, change func(*config.Config)) (*apptest.Server, *otlptest.Receiver) {
	t.Helper()
	r := otlptest.New(t)
	return apptest.Open(t, func(c *config.Config) {
		c.Tracing = tracing.Config{Endpoint: r.Endpoint, Sample: 1}
		if change != nil {
			change(c)
		}
	}), r
}

// sendOnSocket sends a text, and returns its receipt.
func sendOnSocket(s *apptest.Socket, conversation, clientSeq uint64, text string) (receipt *gatewayv1.Receipt) {
	s.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: conversation, ClientSeq: clientSeq, Content: apptest.Text(text)}}})
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, one := range f.Receipts {
			if one.ClientSeq == clientSeq {
				receipt = one
			}
		}
		return receipt != nil
	})
	return receipt
}

// traceOf is the id of a message's trace.
func traceOf(t *testing.T, message string) string {
	t.Helper()
	m, err := id.ParseMessage(message)
	must(t, err)
	return tracing.TraceOf(m).String()
}

// nodesOf returns the nodes of the spans with a name, each once.
func nodesOf(spans []otlptest.Span, name string) []string {
	found := map[string]bool{}
	for _, s := range spans {
		if s.Name == name {
			found[s.Node] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var stepsOfASocket = []string{"message.commit", "message.dispatch", "message.fan_out", "message.push", "message.send", "message.write"}

// followMessage sends a message to a group whose members are connected to all nodes, and requires one tree of spans from socket to socket.
func followMessage(t *testing.T, h *apptest.Server, r *otlptest.Receiver, push string) {
	all := 1 + len(h.Others)
	var people []*apptest.Person
	for i := range 3 * all {
		people = append(people, h.Register(t, fmt.Sprintf("person%d", i)))
	}
	group := h.Group(t, people...)
	var sockets []*apptest.Socket
	for _, p := range people { // whose requests go to the nodes in turn
		s, _ := p.Socket(t, "rialto.v1.proto")
		sockets = append(sockets, s)
	}
	receipt := sendOnSocket(sockets[0], group, 1, "a secret text")
	for _, s := range sockets[1:] {
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			return slices.ContainsFunc(f.Events, func(e *chatv1.Event) bool { return e.GetMessage().GetId() == receipt.Id })
		})
	}
	trace := traceOf(t, receipt.Id)
	var spans []otlptest.Span
	eventually.True(t, "the trace is complete", func() bool {
		spans = r.Trace(trace)
		return slices.Equal(otlptest.Names(spans), stepsOfASocket) && len(nodesOf(spans, "message.write")) == all
	})
	if why := otlptest.Connected(spans); why != "" {
		t.Errorf("the trace is not one tree: %s, of %+v", why, spans)
	}
	if len(nodesOf(spans, "message.push")) != all || len(nodesOf(spans, "message.send")) != 1 || len(nodesOf(spans, "message.dispatch")) != 1 {
		t.Errorf("the nodes are %q, %q and %q", nodesOf(spans, "message.send"), nodesOf(spans, "message.dispatch"), nodesOf(spans, "message.push"))
	}
	checkBatches(t, spans, r.Spans(), push)
	for _, s := range r.Spans() {
		for key, value := range s.Attributes {
			if strings.Contains(value, "secret") || strings.Contains(value, "a good password") || strings.Contains(value, people[0].AccessToken) {
				t.Errorf("%s has %s = %q", s.Name, key, value)
			}
		}
	}
	if first := spans[0]; first.Name != "message.send" || first.Attributes["rialto.message.id"] != receipt.Id || first.Attributes["rialto.seq"] != fmt.Sprint(receipt.Seq) || first.Attributes["rialto.step"] != "accepted" {
		t.Errorf("the first span is %+v", first)
	}
}

// checkBatches requires that the spans of a message and those of its batches link to each other. push names the batches of its pushes.
func checkBatches(t *testing.T, of, all []otlptest.Span, push string) {
	t.Helper()
	batches := map[otlptest.Link]otlptest.Span{}
	for _, s := range all {
		batches[otlptest.Link{Trace: s.Trace, ID: s.ID}] = s
	}
	for name, batch := range map[string]string{"message.commit": "timeline.commit", "message.fan_out": "fanout.round", "message.push": push} {
		for _, s := range of {
			if s.Name != name {
				continue
			}
			if len(s.Links) != 1 || batches[s.Links[0]].Name != batch || !slices.Contains(batches[s.Links[0]].Links, otlptest.Link{Trace: s.Trace, ID: s.ID}) {
				t.Errorf("%s links to %v, and not to a %s that links to it", name, s.Links, batch)
			}
		}
	}
	if !slices.ContainsFunc(all, func(s otlptest.Span) bool {
		return s.Name == "bus.publish" && batches[otlptest.Link{Trace: s.Trace, ID: s.Parent}].Name == "fanout.round" && s.Attributes["rialto.node"] != ""
	}) {
		t.Error("no round has published")
	}
}

func TestATraceFollowsAMessageFromSocketToSocket(t *testing.T) {
	h, r := traced(t, nil)
	followMessage(t, h, r, "bus.receive")
}

// The same where the conversation's log is the only copy, and the message is broadcast to the nodes with followers.
func TestATraceFollowsAMessageOfALargeGroup(t *testing.T) {
	h, r := traced(t, func(c *config.Config) { c.Chat.LargeGroupAbove = 2 })
	followMessage(t, h, r, "gateway.push")
}

// The same with an OpenTelemetry Collector between the nodes and the receiver.
func TestACollectorReceivesTheTraceOfAMessage(t *testing.T) {
	r := otlptest.New(t)
	endpoint := otlptest.Collector(t, r)
	h := apptest.Open(t, func(c *config.Config) { c.Tracing = tracing.Config{Endpoint: endpoint, Sample: 1} })
	followMessage(t, h, r, "bus.receive")
}

// Control entries have ids like messages, and no send that their traces could begin with.
func TestNobodySendsControlEntries(t *testing.T) {
	h, r := traced(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	socket, _ := bob.Socket(t, "rialto.v1.proto")
	group := h.Group(t, ann, bob) // begins with a control entry
	sent := h.Send(t, ann, group, "1", "hello")
	socket.Until(func(f *gatewayv1.ServerFrame) bool {
		return slices.ContainsFunc(f.Events, func(e *chatv1.Event) bool { return e.GetMessage().GetId() == sent.Id })
	})
	trace := traceOf(t, sent.Id)
	eventually.True(t, "the message is traced", func() bool { return slices.Contains(otlptest.Names(r.Trace(trace)), "message.push") })
	for _, s := range r.Spans() {
		if strings.HasPrefix(s.Name, "message.") && s.Trace != trace {
			t.Errorf("a control entry is traced: %+v", s)
		}
	}
}

// A call has its statements and its transactions in its trace. A message that it sends has its own, which links to it. The header of a caller who is
// not trusted is a link.
func TestATraceHasACallAndItsStatements(t *testing.T) {
	h, r := traced(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	request := apptest.As(ann, &chatv1.SendRequest{Conversation: c, ClientMsgId: "1", Content: apptest.Text("hello")})
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	request.Header().Set("Traceparent", "00-"+theirs+"-b7ad6b7169203331-01")
	sent, err := h.Chat().Send(t.Context(), request)
	must(t, err)
	var register, send []otlptest.Span
	eventually.True(t, "the calls are traced", func() bool {
		register, send = nil, nil
		for _, s := range r.Spans() {
			switch s.Name {
			case "rialto.account.v1.AccountService/Register":
				register = r.Trace(s.Trace)
			case "rialto.chat.v1.ChatService/Send":
				send = append(send, s)
			}
		}
		return len(register) > 0 && len(send) > 0 && slices.Contains(otlptest.Names(register), "sql.transaction") && len(r.Trace(traceOf(t, sent.Msg.Id))) > 0
	})
	if why := otlptest.Connected(register); why != "" || register[0].Name != "rialto.account.v1.AccountService/Register" {
		t.Errorf("the trace of a call: %s, %+v", why, register)
	}
	if !slices.ContainsFunc(register, func(s otlptest.Span) bool {
		return s.Name == "sql.statement" && strings.HasPrefix(s.Attributes["db.query.summary"], "INSERT ") && s.Attributes["db.system.name"] != ""
	}) {
		t.Errorf("the call has stored nothing: %+v", register)
	}
	if send[0].Trace == theirs || !slices.Contains(send[0].Links, otlptest.Link{Trace: theirs, ID: "b7ad6b7169203331"}) {
		t.Errorf("the call with a header is %+v, want a trace of its own with a link to the caller's", send[0])
	}
	socket, _ := ann.Socket(t, "rialto.v1.json")
	body, err := structpb.NewStruct(map[string]any{"conversation": fmt.Sprint(c)})
	must(t, err)
	socket.Write(&gatewayv1.ClientFrame{Request: 7, Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/History", Body: body, Traceparent: "00-" + theirs + "-00f067aa0ba902b7-01"}})
	socket.Until(func(f *gatewayv1.ServerFrame) bool { return f.Request == 7 && f.Result != nil })
	eventually.True(t, "a call on a socket is traced", func() bool {
		return slices.ContainsFunc(r.Spans(), func(s otlptest.Span) bool {
			return s.Name == "rialto.chat.v1.ChatService/History" && slices.Contains(s.Links, otlptest.Link{Trace: theirs, ID: "00f067aa0ba902b7"})
		})
	})
	root := r.Trace(traceOf(t, sent.Msg.Id))[0]
	if root.Name != "message.send" || !slices.Contains(root.Links, otlptest.Link{Trace: send[0].Trace, ID: send[0].ID}) {
		t.Errorf("the message of a call begins with %+v", root)
	}
}

// metricsOf returns the metrics of a node, in a format.
func metricsOf(t *testing.T, n *app.Node, format string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.AdminAddress().String()+"/metrics", http.NoBody)
	must(t, err)
	q.Header.Set("Accept", format)
	res, err := http.DefaultClient.Do(q)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return string(text)
}

const openMetrics = "application/openmetrics-text; version=1.0.0"

// The histograms name traces of calls and sends.
func TestHistogramsNameTraces(t *testing.T) {
	h, _ := traced(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	socket, _ := ann.Socket(t, "rialto.v1.proto")
	receipt := sendOnSocket(socket, h.Direct(t, ann, bob), 1, "hello")
	trace := traceOf(t, receipt.Id)
	found := map[string]bool{}
	for _, n := range append([]*app.Node{h.Node}, h.Others...) {
		for line := range strings.Lines(metricsOf(t, n, openMetrics)) {
			if strings.HasPrefix(line, `rialto_call_seconds_bucket{call="send"`) && strings.Contains(line, `# {trace_id="`+trace+`"}`) {
				found["send"] = true
			}
			if strings.HasPrefix(line, `rialto_call_seconds_bucket{call="/rialto.account.v1.AccountService/Register"`) && strings.Contains(line, `# {trace_id="`) {
				found["call"] = true
			}
		}
		if strings.Contains(metricsOf(t, n, "text/plain"), "trace_id") {
			t.Error("the older format has exemplars, which its readers refuse")
		}
	}
	if !found["send"] || !found["call"] {
		t.Errorf("the exemplars: %v", found)
	}
}

// Messages are delivered while the collector is dead, and what is lost is counted.
func TestMessagesFlowWithoutTheCollector(t *testing.T) {
	h, r := traced(t, func(c *config.Config) { c.Tracing.Queue = 1 })
	r.Answer(http.StatusServiceUnavailable)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	from, _ := ann.Socket(t, "rialto.v1.proto")
	to, _ := bob.Socket(t, "rialto.v1.proto")
	c := h.Direct(t, ann, bob)
	for n := uint64(1); n <= 50; n++ {
		receipt := sendOnSocket(from, c, n, "hello")
		to.Until(func(f *gatewayv1.ServerFrame) bool {
			return slices.ContainsFunc(f.Events, func(e *chatv1.Event) bool { return e.GetMessage().GetId() == receipt.Id })
		})
	}
	lost := func(result string) (n int) {
		for _, node := range append([]*app.Node{h.Node}, h.Others...) {
			for line := range strings.Lines(metricsOf(t, node, "text/plain")) {
				var value int
				if _, err := fmt.Sscanf(line, `rialto_trace_spans_total{result="`+result+`"} %d`, &value); err == nil {
					n += value
				}
			}
		}
		return n
	}
	eventually.True(t, "what is lost is counted", func() bool { return lost("dropped") > 0 && lost("failed") > 0 })
	if n := lost("sent"); n != 0 || len(r.Spans()) != 0 {
		t.Errorf("%d spans were sent", n)
	}
}

// Without an endpoint nothing is traced, and the metrics have no other format than before.
func TestNothingIsTracedByDefault(t *testing.T) {
	h := apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	h.Send(t, ann, h.Direct(t, ann, bob), "1", "hello")
	text := metricsOf(t, h.Node, openMetrics)
	for _, result := range []string{"sent", "dropped", "failed"} {
		if !strings.Contains(text, `rialto_trace_spans_total{result="`+result+`"} 0`) {
			t.Errorf("there are spans that were %s", result)
		}
	}
	if strings.Contains(text, "# EOF") {
		t.Error("the metrics are in the format of OpenMetrics")
	}
}
