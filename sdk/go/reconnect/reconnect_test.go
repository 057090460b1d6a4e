package reconnect

import (
	"slices"
	"testing"
	"time"
)

// Servers that failed are tried in turn, the one that failed longest ago first.
func TestServersThatFailedAreTriedInTurn(t *testing.T) {
	s := Servers{Own: "own", Discover: true}
	now := time.Unix(1000, 0)
	s.Discovered([]string{"a", "b"}, time.Hour, now)
	for i, want := range []string{"a", "b", "own", "a", "b"} {
		if got := s.Next(); got != want {
			t.Errorf("try %d goes to %s, want %s", i, got, want)
		}
		others := s.Fail(now.Add(time.Duration(i) * time.Second))
		if want := i < 2; others != want {
			t.Errorf("after try %d there are others that have not failed: %v", i, others)
		}
	}
	s.Opened("node-b")
	if got := s.Next(); got != "b" || !slices.Equal(s.list, []string{"b", "a"}) || s.Previous() != "node-b" {
		t.Errorf("after a connection to b: %s of %v, previous %s", got, s.list, s.Previous())
	}
}

// A list is asked for again when it is too old, at most after an hour, or some seconds after that failed. Old failures are forgotten then.
func TestTheListIsAskedForAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	s := Servers{Own: "own", Discover: true}
	due := func(when string, at time.Time, want bool) {
		t.Helper()
		if s.MustDiscover(at) != want {
			t.Errorf("%s: a discovery is due: %v", when, !want)
		}
	}
	due("at first", now, true)
	s.NotDiscovered(now)
	due("after a failure", now.Add(DiscoverAgain-1), false)
	due("later", now.Add(DiscoverAgain), true)
	s.Discovered([]string{"a", "b"}, 24*time.Hour, now)
	due("within the hour", now.Add(time.Hour-1), false)
	due("after the hour", now.Add(time.Hour), true)
	s.Next()
	s.Fail(now)
	s.Discovered([]string{"a", "b"}, time.Hour, now.Add(FailureTime))
	if got := s.Next(); got != "b" {
		t.Errorf("a server that failed a minute ago is tried before %s", got)
	}
	s.Discovered([]string{"a", "b"}, time.Hour, now.Add(FailureTime+1))
	if got := s.Next(); got != "a" {
		t.Errorf("a server that failed long ago is tried after %s", got)
	}
	if s = (Servers{Own: "own"}); s.MustDiscover(now) || s.Next() != "own" || s.Fail(now) {
		t.Error("a client that does not discover has other servers")
	}
}

// Waits are random below a bound that doubles, and after what the server asked for.
func TestWaitsDoubleUpToTheMost(t *testing.T) {
	for _, c := range []struct {
		failures int
		bound    time.Duration
	}{{0, 250 * time.Millisecond}, {1, 500 * time.Millisecond}, {3, 2 * time.Second}, {6, 16 * time.Second}, {7, 30 * time.Second}, {1000, 30 * time.Second}} {
		for _, asked := range []time.Duration{0, 7 * time.Second} {
			for _, part := range []int64{0, 1, 2} {
				got := Wait(c.failures, asked, MaxWait, func(n int64) int64 { return (n - 1) * part / 2 })
				if want := asked + (c.bound-1)*time.Duration(part)/2; got != want {
					t.Errorf("after %d failures, asked to wait %v: %v, want %v", c.failures, asked, got, want)
				}
			}
		}
	}
}
