package sqldb

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

// A suspended replica becomes usable by the monotonic clock. Otherwise a wall clock that is set back by an hour would suspend it for an hour.
func TestASuspendedReplicaWaitsByTheMonotonicClock(t *testing.T) {
	r := &replica{fence: &pglink.Fence{}, retryDelay: time.Minute}
	if !r.catchesUp(t.Context(), 0) {
		t.Error("a replica that has not failed is not used")
	}
	r.suspend(time.Now())
	if retryAt := *r.retryAt.Load(); retryAt == retryAt.Round(0) { // Round removes the monotonic clock
		t.Errorf("it is suspended until %v by the wall clock", retryAt)
	}
	if r.catchesUp(t.Context(), 0) {
		t.Error("a replica that has just failed is used")
	}
	r.suspend(time.Now().Add(-time.Minute))
	if !r.catchesUp(t.Context(), 0) {
		t.Error("a replica is not used after its retry delay")
	}
}
