package id_test

import (
	"math"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// The ids of canaries are those below the ids of event streams, and no others.
func TestCanariesAreRecognized(t *testing.T) {
	const last = math.MaxInt64 - 4096
	for u, want := range map[id.User]bool{0: false, 1: false, last - id.MaxCanaries: false, last - id.MaxCanaries + 1: true, last: true, last + 1: false, math.MaxInt64: false} {
		if got := u.IsCanary(); got != want {
			t.Errorf("user %d is a canary: %v, want %v", u, got, want)
		}
	}
	if id.CanaryUser(1) != last-id.MaxCanaries+1 || id.CanaryUser(id.MaxCanaries) != last {
		t.Errorf("the canaries are %d to %d", id.CanaryUser(1), id.CanaryUser(id.MaxCanaries))
	}
}
