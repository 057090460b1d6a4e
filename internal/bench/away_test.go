package bench

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAbsences: from the loss of a connection to the next one; a client that never came back is told of, one that was never there is
// not.
func TestAbsences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &absences{since: map[int]time.Time{}, up: map[int]bool{}}
		a.heard(9, false) // it has not connected yet
		for client := range 4 {
			a.heard(client, true)
		}
		if a.online() != 4 {
			t.Errorf("%d are online", a.online())
		}
		for client := range 3 {
			a.heard(client, false)
		}
		time.Sleep(time.Second)
		a.heard(0, true)
		a.heard(1, false) // it tries, in vain
		time.Sleep(2 * time.Second)
		a.heard(1, true)
		if r, want := *a.result(5), (awayResult{Clients: 5, Lost: 3, Away: 1, MedianMs: 3000, P99Ms: 3000, MaxMs: 3000}); r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
	})
}
