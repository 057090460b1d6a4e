package pebblelog

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// TestLogWithFullCaches: caches that are full all the time change nothing.
func TestLogWithFullCaches(t *testing.T) {
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		l, err := Open("log", Options{FS: vfs.NewMem(), Listener: listener, cachedKeys: 1, cachedInboxes: 1})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
