package terminal

import (
	"strings"
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// A status is shown with its end, if it has one, until then.
func TestAStatusIsShownWithItsEnd(t *testing.T) {
	until := time.Now().Add(time.Hour)
	for want, ms := range map[string]int64{
		"; your status is busy": 0,
		"; your status is busy, until " + until.Format("2 January, 15:04"): until.UnixMilli(),
		"online": time.Now().Add(-time.Hour).UnixMilli(),
	} {
		got := describePresence(&accountv1.Settings{CustomStatus: &presencev1.CustomStatus{Text: "busy", UntilMs: ms}})
		if !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want an end of %q", got, want)
		}
	}
}
