package fanout_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// What a node of the next release gives, and this one does not know, is not answered as if it were stored, nor is anything that came
// with it stored many times; what it tells, and may be lost, takes nothing else with it.
func TestOddDeliveriesOfOtherNodes(t *testing.T) {
	w := newWorkers(t, 1)
	for p := range timeline.Partitions {
		w.held[0][p].Store(&w.names[0])
		w.workers[0].Begin(p)
	}
	ctx := context.Background()
	const user = id.User(2) // on node a
	event := (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: user}}}).Append(nil)
	frame := (&message.Delivery{Kind: message.DeliverFrame, Body: []byte{1}, Targets: []message.Target{{User: user}}}).Append(nil)
	unknown := []byte{3, 0x7e, 1, 2}

	w.settleAll() // its partitions are taken
	if answer, _ := w.bus.Request(ctx, "node.n0.post", slices.Concat(event, unknown, event)); len(answer) > 0 {
		t.Errorf("what is not known was answered with % x", answer)
	}
	if answer, err := w.bus.Request(ctx, "node.n0.post", slices.Concat(event, event)); err != nil || string(answer) != "s" {
		t.Errorf("what is known was answered with % x, %v", answer, err)
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
	for frames() < 2 { // some are lost on the bus of this test
		must(t, w.bus.Publish("node.n0.transient", slices.Concat(frame, unknown, frame)))
		runtime.Gosched()
	}
	if w.workers[0].Unknown() < 2 {
		t.Errorf("%d were counted", w.workers[0].Unknown())
	}
	w.stops[0]()
	must(t, w.log.Close())
	noneLeft(t)
}
