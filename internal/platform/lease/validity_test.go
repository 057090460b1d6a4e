package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/platform/lease"
)

// A lease ends by the monotonic clock or by the wall clock, whichever is first, and a step back of the wall clock does not prolong it.
func TestALeaseEndsByTheEarlierClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := lease.NewValidity()
		wall := time.Unix(1_800_000_000, 0)
		remaining := func(step, want time.Duration) {
			t.Helper()
			if got := v.Remaining(v.Now(wall.Add(step))); max(got, 0) != want {
				t.Errorf("with the wall clock at %v it lasts %v; want %v", step, got, want)
			}
		}
		remaining(0, 0)
		from := v.Now(wall)
		before := v.Generation()
		v.Extend(from, 8*time.Second)
		if v.Generation() == before {
			t.Error("a renewal has the previous renewal's generation")
		}
		remaining(0, 8*time.Second)
		remaining(3*time.Second, 5*time.Second) // the machine slept, and its monotonic clock with it
		remaining(time.Hour, 0)
		remaining(-time.Hour, 8*time.Second)
		time.Sleep(6 * time.Second)
		remaining(0, 2*time.Second)
		remaining(-time.Hour, 2*time.Second)
		v.Extend(from, 8*time.Second) // the answer came late: the lease lasts from when the renewal was sent
		remaining(0, 2*time.Second)
		time.Sleep(2 * time.Second)
		remaining(0, 0)
		v.Extend(v.Now(wall), time.Second)
		v.End()
		remaining(0, 0)
		remaining(-time.Hour, 0)
	})
}

// A holder's silence begins when its last heartbeat was first read. A new count or a new process ends it. After a time in which this
// process read nothing, the silence starts again from zero.
func TestSilenceBeginsWithTheLastHeartbeat(t *testing.T) {
	var h lease.Heartbeats
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	round := func(seconds int, blind time.Duration, want map[string]int, beats map[string]lease.Beat) {
		t.Helper()
		h.Begin(at(seconds), blind)
		for holder, b := range beats {
			if got := h.Seen(holder, b, at(seconds)); !got.Equal(at(want[holder])) {
				t.Errorf("at %d: %s is silent since %v; want %d", seconds, holder, got.Sub(start), want[holder])
			}
		}
	}
	beat := func(incarnation, count uint64) lease.Beat { return lease.Beat{Incarnation: incarnation, Count: count} }
	round(1, 0, map[string]int{"a": 1, "b": 1}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(1, 1)})
	round(2, 0, map[string]int{"a": 1, "b": 2}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(1, 2)})
	round(30, 0, map[string]int{"a": 1, "b": 30}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(2, 2)})
	round(31, 2*time.Second, map[string]int{"a": 1, "b": 30}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(2, 2)})
	round(40, 2*time.Second, map[string]int{"a": 40, "b": 40}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(2, 2)})
	round(41, 2*time.Second, map[string]int{"b": 40}, map[string]lease.Beat{"b": beat(2, 2)})
	round(42, 2*time.Second, map[string]int{"a": 42, "b": 40}, map[string]lease.Beat{"a": beat(1, 1), "b": beat(2, 2)}) // it came back
}
