package pebblelog_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

func TestLog(t *testing.T) {
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		l, err := pebblelog.Open("log", pebblelog.Options{FS: vfs.NewMem(), Listener: listener})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
