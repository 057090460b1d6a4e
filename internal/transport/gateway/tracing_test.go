package gateway

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
)

// Each delivery is counted in one traced batch: what is for followers in that of its push, all else in that of the bus's message.
func TestDeliveriesAreCountedInOneBatch(t *testing.T) {
	t.Parallel()
	c, _ := bench(t)
	s, recorder := c.server, tracingtest.New(t)
	s.deps.Tracer = recorder.Tracer
	c.register()
	following(s, 1)
	large := newLargeLane(s)
	d := &deliverer{server: s, span: "bus.receive", large: large}
	e := message.Entry{ID: id.MessageOf(s.deps.Clock.Now().UnixMilli(), 1, 0, 6), Sender: 1, Content: message.AppendText(nil, "x")}
	own := message.Delivery{Kind: message.DeliverEntry, Conversation: 6, Seq: 2, Counted: 2, Body: e.Append(nil), Targets: []message.Target{{User: 7, At: 11, Prev: 10}}}
	d.deliver(slices.Concat(largeEntry5(t, s, 2, 1), own.Append(nil), largeEntry5(t, s, 3, 1)))
	d.deliver(largeEntry5(t, s, 4, 1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	large.run(ctx)
	var batches []string
	for _, span := range recorder.Spans() {
		if n := span.Attributes["rialto.batch.messages"]; n != "" {
			batches = append(batches, fmt.Sprint(span.Name, " ", n, " ", span.Links))
		}
	}
	if want := []string{"bus.receive 1 1", "gateway.push 3 3"}; !slices.Equal(batches, want) {
		t.Errorf("got the batches %q, want %q", batches, want)
	}
}
