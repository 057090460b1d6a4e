package terminal

import (
	"context"
	"math"
	"strconv"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// keep sets the retention of the open chat.
func (s *screen) keep(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	seconds, err := parseKept(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Chat().SetRetention, &chatv1.SetRetentionRequest{Conversation: c.Id, Seconds: seconds})
	return s.done(err)
}

// keptUnits are the units of how long messages are kept, the longest first.
var keptUnits = []struct {
	suffix, name string
	seconds      uint64
}{{"d", "day", 24 * 60 * 60}, {"h", "hour", 60 * 60}, {"m", "minute", 60}}

// parseKept returns how many seconds messages are kept; 0 is the server's setting. A number without a unit is one of days.
func parseKept(text string) (seconds uint32, err error) {
	if text == "default" {
		return 0, nil
	}
	for _, u := range keptUnits {
		number, found := strings.CutSuffix(text, u.suffix)
		if !found && u.suffix != "d" {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n > 0 && n*u.seconds <= math.MaxUint32 {
			return uint32(n * u.seconds), nil
		}
	}
	return 0, errorf("give a time, such as /keep 30m, /keep 1h or /keep 7d; /keep default uses the server's setting; older messages are deleted permanently")
}

// keptText is how long messages are kept, in words.
func keptText(seconds uint32) string {
	for _, u := range keptUnits {
		if n := uint64(seconds) / u.seconds; n > 0 && uint64(seconds)%u.seconds == 0 {
			return counted(n, u.name)
		}
	}
	return counted(uint64(seconds), "second")
}
