package tracing_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporter keeps what it gets.
type exporter struct {
	spans []*tracing.Ended
	err   error
	block chan struct{} // not nil: it waits for it, or for the end of its context
}

func (e *exporter) Export(ctx context.Context, spans []*tracing.Ended) error {
	if e.block != nil {
		select {
		case <-e.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.err == nil {
		e.spans = append(e.spans, spans...)
	}
	return e.err
}

func (e *exporter) Close() {}

func open(e *exporter, c tracing.Config) *tracing.Tracer {
	if c.Endpoint == "" {
		c.Endpoint = "http://127.0.0.1:1"
	}
	return tracing.New(tracing.Deps{Exporter: e, Logger: slog.New(slog.DiscardHandler)}, c)
}

// export runs a tracer until what it has is exported.
func export(t *testing.T, of *tracing.Tracer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := of.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func messageID(n int) id.Message {
	return id.MessageOf(1_795_000_000_000+int64(n/7), uint16(n%7), 2, id.Conversation(249812863164612608+n%13))
}

// All nodes decide alike, as OpenTelemetry does by the trace's id, and a greater share has the messages of a smaller one.
func TestAMessageIsSampledByItsID(t *testing.T) {
	one, other, more, all := open(nil, tracing.Config{}), open(nil, tracing.Config{Sample: 0.01}), open(nil, tracing.Config{Sample: 0.1}), open(nil, tracing.Config{Sample: 1})
	ratio := sdktrace.TraceIDRatioBased(0.01)
	sampled, traces := 0, map[trace.TraceID]bool{}
	const n = 100_000
	for i := range n {
		m := messageID(i)
		traces[tracing.TraceOf(m)] = true
		is := one.Samples(m)
		standard := ratio.ShouldSample(sdktrace.SamplingParameters{ParentContext: t.Context(), TraceID: tracing.TraceOf(m)}).Decision == sdktrace.RecordAndSample
		if is != other.Samples(m) || is != standard || is && !more.Samples(m) || !all.Samples(m) {
			t.Fatalf("message %v: %v, %v, %v by OpenTelemetry, %v of a tenth, %v of all", m, is, other.Samples(m), standard, more.Samples(m), all.Samples(m))
		}
		if is {
			sampled++
		}
	}
	if sampled < n/100*9/10 || sampled > n/100*11/10 || len(traces) != n {
		t.Errorf("%d of %d messages are sampled, in %d traces", sampled, n, len(traces))
	}
	m, err := id.ParseMessage("F3ZM-VZDF-A226-2222")
	if err != nil {
		t.Fatal(err)
	}
	if got := tracing.TraceOf(m).String(); got != "18b1c5b24379158e8ba3c0bc9b1c07f5" {
		t.Errorf("the trace of a message has changed, so that nodes of two releases disagree: %s", got)
	}
}

// The steps of a message on three nodes, which tell each other nothing, are one tree. Batches link to them, and they to their batches.
func TestNodesAgreeOnTheTraceOfAMessage(t *testing.T) {
	m, e := messageID(1), &exporter{}
	var nodes []*tracing.Tracer
	for range 3 {
		nodes = append(nodes, open(e, tracing.Config{Sample: 1}))
	}
	began := time.Now()
	member := nodes[0].NewMember(m)
	tracing.RecordBatch("timeline.commit", began, []*tracing.Member{member}, 5)
	nodes[0].Record(tracing.StepSpan{Message: m, Step: tracing.Commit, Self: member.Self, Batch: member.Batch, Began: began})
	nodes[0].Record(tracing.StepSpan{Message: m, Step: tracing.Send, Began: began})
	nodes[0].Record(tracing.StepSpan{Message: m, Step: tracing.Send, Began: began, Again: true})
	nodes[1].Record(tracing.StepSpan{Message: m, Step: tracing.Dispatch, Began: began})
	round := nodes[1].Batch("fanout.round")
	round.Add(nodes[1].Record(tracing.StepSpan{Message: m, Step: tracing.FanOut, Began: began, Batch: round.Context()}))
	round.Part("bus.publish", trace.SpanKindProducer, began, errors.New("a text of a client"))
	round.End(2)
	push := nodes[2].Record(tracing.StepSpan{Message: m, Step: tracing.Push, Began: began})
	nodes[2].Record(tracing.StepSpan{Message: m, Step: tracing.Write, Began: began, Parent: push})
	nodes[2].Record(tracing.StepSpan{Message: m, Step: tracing.Notify, Began: began, Err: errs.New(errs.Unavailable, "busy", "a text")})
	empty := nodes[2].Batch("bus.receive") // has no sampled message
	empty.Part("bus.publish", trace.SpanKindProducer, began, nil)
	empty.End(7)
	for _, n := range nodes {
		export(t, n)
	}
	parents := map[string]string{"message.commit": "message.send", "message.dispatch": "message.send", "message.fan_out": "message.dispatch", "message.push": "message.dispatch",
		"message.write": "message.push", "message.notify": "message.dispatch", "timeline.commit": "", "fanout.round": "", "bus.publish": "fanout.round"}
	names, again := map[trace.SpanID]string{}, 0
	for _, s := range e.spans {
		if names[s.Self.SpanID()] != "" {
			t.Errorf("two spans have the id of %s", s.Name)
		}
		names[s.Self.SpanID()] = s.Name
	}
	for _, s := range e.spans {
		ofMessage := strings.HasPrefix(s.Name, "message.")
		if ofMessage != (s.Self.TraceID() == tracing.TraceOf(m)) {
			t.Errorf("%s is in the trace %v", s.Name, s.Self.TraceID())
		}
		parent := names[s.Parent]
		if s.Name == "message.send" {
			if parent == "message.send" { // a retry
				again++
			}
			continue
		}
		if want, ok := parents[s.Name]; !ok || parent != want {
			t.Errorf("the parent of %s is %q", s.Name, parent)
		}
		for _, l := range s.Links {
			if linked := names[l.SpanID()]; linked == "" || strings.HasPrefix(linked, "message.") == ofMessage {
				t.Errorf("%s links to %q", s.Name, linked)
			}
		}
		if linked := len(s.Links); linked != map[string]int{"message.commit": 1, "message.fan_out": 1, "timeline.commit": 1, "fanout.round": 1}[s.Name] {
			t.Errorf("%s has %d links", s.Name, linked)
		}
		failed := map[string]string{"bus.publish": "internal internal", "message.notify": "unavailable busy"}[s.Name]
		if s.Failure != failed {
			t.Errorf("the status of %s is %v", s.Name, s.Failure)
		}
	}
	if len(e.spans) != 11 || again != 1 {
		t.Errorf("%d spans, %d of them retries", len(e.spans), again)
	}
}

// What a request does is recorded within its span if that is sampled.
func TestRequestsHaveTraces(t *testing.T) {
	e := &exporter{}
	all := open(e, tracing.Config{Sample: 1})
	ctx, span := all.Root(t.Context(), "call", trace.SpanKindServer, "")
	inner, child := tracing.Start(ctx, "sql.statement", trace.SpanKindClient)
	_, grandchild := tracing.Start(inner, "deeper", trace.SpanKindClient)
	grandchild.Text("a", "b")
	grandchild.Int("c", 4)
	grandchild.End(nil)
	carried, other := tracing.Start(tracing.Adopt(context.Background(), inner), "adopted", trace.SpanKindInternal)
	if tracing.Parent(carried) == "" {
		t.Error("an adopted span has no header")
	}
	other.End(nil)
	child.End(errs.New(errs.NotFound, "no_user", "a text"))
	if parent := tracing.Parent(ctx); parent != "00-"+span.TraceID()+"-"+tracing.ContextOf(ctx).SpanID().String()+"-01" {
		t.Errorf("the header is %q", parent)
	}
	span.End(nil)
	export(t, all)
	var names []string
	ids := map[trace.SpanID]bool{}
	for _, s := range e.spans {
		names = append(names, s.Name)
		if ids[s.Self.SpanID()] {
			t.Errorf("%s has the id of another span", s.Name)
		}
		ids[s.Self.SpanID()] = true
		if s.Self.TraceID().String() != span.TraceID() {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	if !slices.Equal(names, []string{"deeper", "adopted", "sql.statement", "call"}) || e.spans[0].Parent != e.spans[2].Self.SpanID() || e.spans[1].Parent != e.spans[2].Self.SpanID() ||
		e.spans[2].Parent != e.spans[3].Self.SpanID() || e.spans[2].Failure != "not_found no_user" {
		t.Errorf("the spans are %q", names)
	}

	rare, sampled := open(&exporter{}, tracing.Config{Sample: 0.1}), 0
	for range 10_000 {
		if ctx, span := rare.Root(t.Context(), "call", trace.SpanKindServer, ""); span != nil {
			sampled++
			span.End(nil)
		} else if tracing.Active(ctx) || tracing.Parent(ctx) != "" {
			t.Fatal("a call that is not sampled has a span")
		}
	}
	if sampled < 800 || sampled > 1200 {
		t.Errorf("%d of 10,000 calls are sampled, want a tenth", sampled)
	}
}

// A caller's header is a link, unless callers are trusted: then it decides.
func TestCallersNameTheirTraces(t *testing.T) {
	const sampled, not = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, c := range []struct {
		trust         bool
		sample        float64
		parent        string
		spans, linked int
		continued     bool
	}{
		{false, 1, sampled, 1, 1, false},
		{false, 1e-6, sampled, 0, 0, false},
		{false, 1, "nonsense", 1, 0, false},
		{false, 1, sampled + strings.Repeat("-x", 1000), 1, 0, false},
		{true, 1e-6, sampled, 1, 0, true},
		{true, 1, not, 0, 0, false},
		{true, 1, "00-nonsense", 1, 0, false},
	} {
		e := &exporter{}
		tracer := open(e, tracing.Config{Sample: c.sample, TrustCallers: c.trust})
		_, span := tracer.Root(t.Context(), "call", trace.SpanKindServer, c.parent)
		span.End(nil)
		export(t, tracer)
		if len(e.spans) != c.spans {
			t.Errorf("%+v: %d spans", c, len(e.spans))
			continue
		}
		for _, s := range e.spans {
			if len(s.Links) != c.linked || (s.Self.TraceID().String() == sampled[3:35]) != c.continued || s.Parent.IsValid() != c.continued {
				t.Errorf("%+v: %v, child of %v, %d links", c, s.Self.TraceID(), s.Parent, len(s.Links))
			}
		}
	}
}

// A collector that does not answer delays nobody. What does not fit is dropped and counted, and what is not accepted is lost.
func TestADeadCollectorDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{block: make(chan struct{})}
		tracer := open(e, tracing.Config{Sample: 1, Queue: 1000})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tracer.Run(ctx) }()
		record := func(n int) {
			for i := range n {
				tracer.Record(tracing.StepSpan{Message: messageID(i), Step: tracing.Send, Began: time.Now()})
			}
			synctest.Wait()
		}
		record(512) // the exporter waits with these
		before := time.Now()
		record(1000)
		record(88)
		if s := tracer.Stats(); time.Since(before) != 0 || s != (tracing.Stats{Dropped: 88, Waiting: 1000}) {
			t.Errorf("after %v: %+v", time.Since(before), s)
		}
		e.err = errors.New("refused")
		close(e.block)
		synctest.Wait()
		if s := tracer.Stats(); s != (tracing.Stats{Dropped: 88, Failed: 1512}) {
			t.Errorf("a collector that refuses: %+v", s)
		}
		e.err = &tracing.Rejected{Spans: 3}
		record(10)
		time.Sleep(time.Second)
		synctest.Wait()
		if s := tracer.Stats(); s != (tracing.Stats{Exported: 7, Dropped: 88, Failed: 1515}) {
			t.Errorf("a collector that rejects three: %+v", s)
		}
		e.err = nil
		record(5)
		cancel() // what waits is sent
		if err := <-ended; err != nil || len(e.spans) != 5 {
			t.Errorf("at the end: %v, %d spans", err, len(e.spans))
		}
	})
}

// Off, nothing is allocated.
func TestOffCostsNothing(t *testing.T) {
	off := tracing.New(tracing.Deps{}, tracing.Config{Sample: 1})
	ctx, m := t.Context(), messageID(1)
	if n := testing.AllocsPerRun(100, func() {
		if off.Samples(m) || !off.Now().IsZero() || tracing.Active(ctx) || tracing.ContextOf(ctx) != nil || tracing.Parent(ctx) != "" {
			t.Error("it is on")
		}
		b := off.Batch("batch")
		b.Part("part", trace.SpanKindProducer, b.Began(), nil)
		b.End(1)
		tracing.RecordBatch("batch", time.Time{}, nil, 1)
		inner, root := off.Root(ctx, "call", trace.SpanKindServer, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		inner, child := tracing.Start(inner, "statement", trace.SpanKindClient)
		child.Text("a", "b")
		child.Int("a", 1)
		child.End(nil)
		root.End(nil)
		if inner != ctx || root.TraceID() != "" || tracing.Adopt(ctx, inner) != ctx || tracing.Current(ctx) != nil {
			t.Error("a context has changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if off.Stats() != (tracing.Stats{}) {
		t.Errorf("the counts are %+v", off.Stats())
	}
}

// A message that is not sampled costs no allocation either.
func TestUnsampledMessagesAllocateNothing(t *testing.T) {
	rare := open(nil, tracing.Config{Sample: 1e-6})
	m := messageID(1)
	if n := testing.AllocsPerRun(100, func() {
		b := rare.Batch("batch")
		if rare.Samples(m) {
			t.Error("it is sampled")
		}
		b.End(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		config tracing.Config
		ok     bool
	}{
		{tracing.Config{}, true},
		{tracing.Config{Sample: 1, Queue: 1 << 20}, true},
		{tracing.Config{Sample: 1e-7}, false},
		{tracing.Config{Sample: 1.1}, false},
		{tracing.Config{Sample: -1}, false},
		{tracing.Config{Queue: 1<<20 + 1}, false},
		{tracing.Config{Authorization: "Bearer x"}, false},
		{tracing.Config{Endpoint: "http://127.0.0.1:4318", Authorization: "Bearer x"}, true},
		{tracing.Config{Endpoint: "http://127.0.0.1:4318", Authorization: "Bearer x\r\nHost: y"}, false},
	} {
		if err := c.config.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: error %v, want success %v", c.config, err, c.ok)
		}
	}
}

// BenchmarkSamples is what each step of a message costs where the message is not sampled.
func BenchmarkSamples(b *testing.B) {
	for name, tracer := range map[string]*tracing.Tracer{"off": nil, "1%": open(nil, tracing.Config{})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			m, sampled := messageID(1), 0
			for i := range b.N {
				m[9] = byte(i)
				if tracer.Samples(m) {
					sampled++
				}
			}
		})
	}
}

// BenchmarkRecord is what each step of a sampled message costs.
func BenchmarkRecord(b *testing.B) {
	tracer := open(&exporter{err: errors.New("dropped")}, tracing.Config{Sample: 1, Queue: 1 << 20})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- tracer.Run(ctx) }()
	b.ReportAllocs()
	for i := range b.N {
		tracer.Record(tracing.StepSpan{Message: messageID(i), Step: tracing.Push, Began: time.Now()})
	}
	b.StopTimer()
	cancel()
	<-ended
}
