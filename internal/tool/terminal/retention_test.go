package terminal

import "testing"

func TestHowLongMessagesAreKept(t *testing.T) {
	for text, want := range map[string]string{"30": "30 days", "1d": "1 day", "90m": "90 minutes", "60m": "1 hour", "48h": "2 days"} {
		if seconds, err := parseKept(text); err != nil || keptText(seconds) != want {
			t.Errorf("/keep %s is %q, %v; want %q", text, keptText(seconds), err, want)
		}
	}
	for _, text := range []string{"", "0", "0h", "-1h", "1.5h", "h", "1w", "50000d", "99999999999999999999"} {
		if seconds, err := parseKept(text); err == nil {
			t.Errorf("/keep %s was accepted as %d seconds", text, seconds)
		}
	}
}
