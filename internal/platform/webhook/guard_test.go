package webhook

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	var b breaker
	now := time.Unix(1_800_000_000, 0)
	fail := func(n int) {
		for range n {
			if !b.allow(now) {
				t.Fatal("a call is refused before the limit")
			}
			b.record(false, now)
		}
	}
	fail(breakAfter - 1)
	b.record(true, now) // failures in a row count
	fail(breakAfter)
	if b.allow(now.Add(breakFor - 1)) {
		t.Error("a call is allowed while the circuit is open")
	}
	now = now.Add(breakFor)
	if !b.allow(now) || b.allow(now) {
		t.Error("after the pause, one call is allowed")
	}
	b.record(false, now)
	if b.allow(now.Add(breakFor - 1)) {
		t.Error("a failed probe does not open the circuit again")
	}
	now = now.Add(breakFor)
	if !b.allow(now) {
		t.Error("there is no second probe")
	}
	b.record(true, now)
	for range 2 {
		if !b.allow(now) {
			t.Error("a probe that succeeds does not close the circuit")
		}
	}
}
