package fanout

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// sampled returns the id of a stored entry if that is traced. Control entries are not, since nobody sends them.
func (w *Worker) sampled(stored []byte) (m id.Message, ok bool) {
	m, ok = message.IDOf(stored)
	return m, ok && w.deps.Tracer.Samples(m) && !message.IsControl(stored)
}

// traceDispatch records that the sampled ones of some entries were queued for their audiences.
func (w *Worker) traceDispatch(began time.Time, entries []timeline.CommittedEntry) {
	if w.deps.Tracer == nil {
		return
	}
	for i := range entries {
		e := &entries[i]
		if m, ok := w.sampled(e.Payload); ok {
			w.deps.Tracer.Record(tracing.StepSpan{Message: m, Step: tracing.Dispatch, Began: began,
				Attributes: []attribute.KeyValue{attribute.Int("rialto.partition", int(e.Key.Partition())), attribute.Int64("rialto.seq", int64(e.Seq))}})
		}
	}
}

// trace records the sampled entries of the round that were posted to inboxes, and those that are broadcast next.
func (l *lane) trace() {
	if !l.traced.On() {
		return
	}
	tracer, posts := l.worker.deps.Tracer, l.posts
	for i := range l.tasks {
		t := &l.tasks[i]
		some := posts[:t.posts]
		posts = posts[t.posts:]
		if t.kind != message.DeliverEntry {
			continue
		}
		m, ok := l.worker.sampled(t.body)
		if !ok {
			continue
		}
		inboxes, _ := countPosted(some)
		to := attribute.Int64("rialto.inboxes", int64(inboxes))
		if t.large {
			to = attribute.Bool("rialto.broadcast", true)
		} else if inboxes == 0 {
			continue
		}
		l.traced.Add(tracer.Record(tracing.StepSpan{Message: m, Step: tracing.FanOut, Began: l.traced.Began(), Batch: l.traced.Context(), Attributes: []attribute.KeyValue{to}}))
	}
}

// publishTraced records that a payload was published for a node, if an entry of the round is sampled.
func (l *lane) publishTraced(began time.Time, node string, bytes int, err error) {
	if l.traced.Linked() {
		l.traced.Part("bus.publish", trace.SpanKindProducer, began, err, attribute.String("rialto.node", node), attribute.Int("rialto.bytes", bytes))
	}
}
