package notification

import (
	"maps"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// TestHintsRest: a user who had a hint gets the next one a second later, and what is never committed is forgotten.
func TestHintsRest(t *testing.T) {
	h := newHints()
	want := func(now time.Time, list map[id.User]uint64, waits bool) {
		t.Helper()
		if due, more := h.due(now); !maps.Equal(due, list) || more != waits {
			t.Errorf("due are %v, and others wait: %v; want %v, %v", due, more, list, waits)
		}
	}
	now := time.Now()
	h.want(1, 5)
	want(now, map[id.User]uint64{1: 5}, true)
	h.sent(now, []id.User{1}, map[id.User]uint64{1: 5})
	h.want(1, 6)
	want(now.Add(hintInterval-1), map[id.User]uint64{}, true)
	want(now.Add(hintInterval), map[id.User]uint64{1: 6}, true)
	want(time.Now().Add(hintPatience), map[id.User]uint64{}, false)
}
