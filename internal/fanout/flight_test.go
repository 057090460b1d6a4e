package fanout

import (
	"errors"
	"testing"
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
