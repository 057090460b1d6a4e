package bench

import (
	"testing"
	"testing/synctest"
	"time"
)

// An absence lasts from the loss of a connection to the next one. A client that never came back is counted; one that was never connected
// is not.
func TestAbsenceDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &absences{since: map[int]time.Time{}, up: map[int]bool{}}
		a.changed(9, false) // it has not connected yet
		for client := range 4 {
			a.changed(client, true)
		}
		if a.online() != 4 {
			t.Errorf("got %d clients online", a.online())
		}
		for client := range 3 {
			a.changed(client, false)
		}
		time.Sleep(time.Second)
		a.changed(0, true)
		a.changed(1, false) // a failed attempt to reconnect
		time.Sleep(2 * time.Second)
		a.changed(1, true)
		if r, want := *a.result(5), (awayResult{Clients: 5, Lost: 3, Away: 1, MedianMs: 3000, P99Ms: 3000, MaxMs: 3000}); r != want {
			t.Errorf("got %+v, want %+v", r, want)
		}
	})
}
