package terminal

import (
	"testing"
	"time"
)

func TestTimesOfScheduledMessages(t *testing.T) {
	now := time.Date(2026, 11, 30, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-11-30 16:30", "90m": "2026-11-30 16:00", "14:31": "2026-11-30 14:31", "14:30": "2026-12-01 14:30", "00:00": "2026-12-01 00:00",
		"": "", "-2h": "", "0s": "", "24:00": "", "soon": "",
	} {
		at, err := parseSendTime(text, now)
		if got := at.Format("2006-01-02 15:04"); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}
