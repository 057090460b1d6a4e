package fanout_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Unknown deliveries of a newer release are not acknowledged as stored, and deliveries in the same request are not stored repeatedly.
// Unknown transient deliveries do not affect the others.
func TestUnknownDeliveriesAreRefused(t *testing.T) {
	w := newWorkers(t, 1)
	for p := range timeline.Partitions {
		w.views[0][p].Store(&w.names[0])
		assign(w.workers[0], p)
	}
	ctx := context.Background()
	const user = id.User(2) // on node a
	event := (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: user}}}).Append(nil)
	frame := (&message.Delivery{Kind: message.DeliverFrame, Body: []byte{1}, Targets: []message.Target{{User: user}}}).Append(nil)
	unknown := []byte{3, 0x7e, 1, 2}

	w.settleAll() // its partitions are taken
	if answer, _ := w.bus.Request(ctx, "node.n0.post", slices.Concat(event, unknown, event)); len(answer) > 0 {
		t.Errorf("the answer to an unknown delivery is % x", answer)
	}
	if answer, err := w.bus.Request(ctx, "node.n0.post", slices.Concat(event, event)); err != nil || string(answer) != "s" {
		t.Errorf("the answer to a known delivery is % x, %v", answer, err)
	}
	entries, err := w.log.Read(ctx, inbox(user), 0, 10)
	if must(t, err); len(entries) != 2 {
		t.Errorf("%d entries are stored", len(entries))
	}

	frames := func() (n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, g := range w.got {
			if g.Kind == message.DeliverFrame {
				n++
			}
		}
		return n
	}
	eventually.True(t, "two frames arrive", func() bool { // the test's bus loses some
		must(t, w.bus.Publish("node.n0.transient", slices.Concat(frame, unknown, frame)))
		return frames() >= 2
	})
	if w.workers[0].UnknownDeliveries() < 2 {
		t.Errorf("the counter says %d", w.workers[0].UnknownDeliveries())
	}
	w.stops[0]()
	must(t, w.log.Close())
	noGoroutines(t)
}
