package tracing

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	maxBatch       = 512 // spans of one export
	exportInterval = time.Second
	// stopTime bounds the export of what waits when the process stops.
	stopTime = 2 * time.Second
)

// queue has the spans that have ended. It implements sdktrace.SpanProcessor.
type queue struct {
	spans                      chan *Ended
	full                       chan struct{} // signalled when there is a batch
	exported, dropped, notSent atomic.Uint64
}

func newQueue(size int) *queue {
	return &queue{spans: make(chan *Ended, size), full: make(chan struct{}, 1)}
}

// OnStart implements sdktrace.SpanProcessor.
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) { q.add(endedOf(s)) }

// add adds a span, or drops it. It never waits.
func (q *queue) add(s *Ended) {
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
		return
	}
	if len(q.spans) >= maxBatch {
		select {
		case q.full <- struct{}{}:
		default:
		}
	}
}

// Shutdown implements sdktrace.SpanProcessor. Run ends by its context.
func (q *queue) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdktrace.SpanProcessor.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Stats count spans since the start.
type Stats struct {
	// Exported were accepted by the exporter. Dropped found the queue full. Failed were not accepted by the exporter, and are lost.
	Exported, Dropped, Failed uint64
	// Waiting are in the queue now.
	Waiting int
}

// Stats returns the counts.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	q := t.queue
	return Stats{Exported: q.exported.Load(), Dropped: q.dropped.Load(), Failed: q.notSent.Load(), Waiting: len(q.spans)}
}

// Run exports spans, every second or when there are many, until ctx ends; then it exports those that wait, for at most two seconds.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(exportInterval)
	defer tick.Stop()
	batch := make([]*Ended, 0, maxBatch)
	for {
		select {
		case <-tick.C:
		case <-t.queue.full:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
			defer cancel()
			t.exportAll(last, batch)
			t.deps.Exporter.Close()
			return nil
		}
		t.exportAll(ctx, batch)
	}
}

// exportAll exports what waits. Spans that are not accepted are lost, because those after them matter more.
func (t *Tracer) exportAll(ctx context.Context, batch []*Ended) {
	for {
		batch = batch[:0]
	collect:
		for len(batch) < cap(batch) {
			select {
			case s := <-t.queue.spans:
				batch = append(batch, s)
			default:
				break collect
			}
		}
		if len(batch) == 0 {
			return
		}
		lost := 0
		if err := t.deps.Exporter.Export(ctx, batch); err != nil {
			lost = len(batch)
			if partial := (*Rejected)(nil); errors.As(err, &partial) {
				lost = min(partial.Spans, lost)
			}
			if ctx.Err() == nil {
				t.deps.Logger.Warn("spans were not accepted by the collector and are lost", "spans", lost, "error", err)
			}
		}
		t.queue.notSent.Add(uint64(lost))
		t.queue.exported.Add(uint64(len(batch) - lost))
		full := len(batch) == cap(batch)
		clear(batch)
		if !full {
			return
		}
	}
}

// Rejected is the error of an exporter whose receiver accepted all spans but some.
type Rejected struct {
	Spans  int
	Reason string
}

func (r *Rejected) Error() string { return "the collector rejected some spans: " + r.Reason }
