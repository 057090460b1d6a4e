package sqldb

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb/pglink"
)

// TestARestIsNotOfTheWallClock: a replica that is left alone is so by the monotonic clock; else a clock that is set back by an hour would
// have it rest for an hour.
func TestARestIsNotOfTheWallClock(t *testing.T) {
	r := &replica{fence: &pglink.Fence{}, pause: time.Minute}
	if !r.reaches(t.Context(), 0) {
		t.Error("one that did not fail is left alone")
	}
	r.leaveAlone(time.Now())
	if until := *r.rest.Load(); until == until.Round(0) { // which takes the monotonic clock away
		t.Errorf("it rests until %v by the wall clock", until)
	}
	if r.reaches(t.Context(), 0) {
		t.Error("one that has just failed is not left alone")
	}
	r.leaveAlone(time.Now().Add(-time.Minute))
	if !r.reaches(t.Context(), 0) {
		t.Error("one whose rest is over is left alone")
	}
}
