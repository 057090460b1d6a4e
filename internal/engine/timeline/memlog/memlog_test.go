package memlog_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func TestLog(t *testing.T) {
	timelinetest.Run(t, func(_ testing.TB, listener timeline.Listener) timeline.Log { return memlog.New(listener) })
}
