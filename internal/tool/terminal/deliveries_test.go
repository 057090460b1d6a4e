package terminal

import (
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func TestSessionsSayWhatTheyLack(t *testing.T) {
	since := time.Date(2026, 11, 30, 14, 30, 0, 0, time.Local)
	for want, session := range map[string]*accountv1.SessionInfo{
		"":             {},
		", up to date": {UpToDate: true},
		", lacks messages since 30 November, 14:30": {BehindSinceMs: since.UnixMilli()},
	} {
		if got := receivedText(session); got != want {
			t.Errorf("%v: %q, want %q", session, got, want)
		}
	}
}
