package rialto

import (
	"testing"
	"time"
)

// polls counts the syncs from one time to another, in steps of 100 ms. Each second it calls every.
func polls(l *pushLag, from time.Time, d time.Duration, every func(now time.Time)) (n int) {
	for at := time.Duration(0); at < d; at += 100 * time.Millisecond {
		now := from.Add(at)
		if at%time.Second == 0 {
			every(now)
		}
		if sync, _ := l.due(now); sync {
			n++
		}
	}
	return n
}

// TestLatePushesCausePolls, as long as they are late by the server's clock, and half a minute more; others cause none.
func TestLatePushesCausePolls(t *testing.T) {
	const ahead = time.Minute
	start := time.Unix(1_000_000, 0)
	l := &pushLag{}
	l.pushed(1, start) // before the server named its time, nothing is late
	l.clock(start.Add(ahead).UnixMilli(), start)
	push := func(age time.Duration) func(time.Time) {
		return func(now time.Time) { l.pushed(now.Add(ahead-age).UnixMilli(), now) }
	}
	if n := polls(l, start, time.Minute, push(4*time.Second)); n != 0 {
		t.Errorf("%d polls while pushes come in time", n)
	}
	start = start.Add(time.Minute)
	if n := polls(l, start, time.Minute, push(8*time.Second)); n < 10 || n > 16 {
		t.Errorf("%d polls in a minute of late pushes", n)
	}
	start = start.Add(time.Minute)
	if n := polls(l, start, time.Hour, func(time.Time) {}); n < 5 || n > 9 {
		t.Errorf("%d polls afterwards", n)
	}
	if _, again := l.due(start.Add(time.Hour)); !again.IsZero() {
		t.Errorf("the next call is due at %v", again)
	}
}

// TestOwnMessagesThatDoNotComeBackCausePolls: those that were acknowledged 5 s ago.
func TestOwnMessagesThatDoNotComeBackCausePolls(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	l := &pushLag{}
	l.acknowledged(1, start)
	l.acknowledged(2, start)
	l.arrived(1)
	if sync, again := l.due(start.Add(lateAfter - 1)); sync || !again.Equal(start.Add(lateAfter)) {
		t.Errorf("before 5 s: %v, again at %v", sync, again)
	}
	l.arrived(2)
	if sync, again := l.due(start.Add(time.Minute)); sync || !again.IsZero() {
		t.Errorf("after both came: %v, again at %v", sync, again)
	}
	l.acknowledged(3, start)
	if sync, _ := l.due(start.Add(lateAfter)); !sync {
		t.Error("a message that did not come back caused no poll")
	}
}
