package fanout

import (
	"context"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// TestNothingOvertakesAMove: of two batches that were on their way to where a partition was, the first has strayed and is stored where
// the partition is now. What is new waits until the second is as well.
func TestNothingOvertakesAMove(t *testing.T) {
	const part = 3
	var f flight
	var s strays
	to := func(node string, stray bool) *batch {
		b := &batch{places: &places{part: node}, parts: []uint16{part}}
		if stray {
			b.given = &given{}
		}
		return b
	}
	enter := func(b *batch, want error) {
		t.Helper()
		if err := f.enter(b, &s); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	first, second, stray := to("old", false), to("old", false), to("new", true)
	enter(first, nil)
	enter(second, nil)
	enter(to("new", false), errMoving)
	enter(stray, nil)
	enter(to("new", false), errMoving)
	f.leave(stray)
	f.leave(first)
	enter(to("new", false), errMoving)
	f.leave(second)
	enter(to("new", false), nil)
	enter(to("new", false), nil)
}

// TestNoRoomInALane: what finds no room in a lane while somebody waits for it is given up. Its places in flight are free once the lanes
// that had got it before are done, so that what is new goes to where its users are then.
func TestNoRoomInALane(t *testing.T) {
	for full := range (&Worker{}).lanes {
		holder := "here"
		w := New(Deps{Node: "here", Holder: func(uint16) string { return holder }})
		for range laneQueue {
			w.lanes[full].offer(&batch{})
		}
		notice := func() *batch {
			return &batch{items: []item{{kind: message.DeliverEvent, members: []id.User{7}}}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.give(ctx, notice()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for n, l := range w.lanes {
			for n != full && len(l.batches) > 0 {
				(<-l.batches).finish()
			}
		}
		holder = "there"
		b := notice()
		if _, b.parts = w.place(b); w.flight.enter(b, &w.strays) != nil {
			t.Errorf("lane %d is full: the users' partition is moving for ever", full)
		}
	}
}
