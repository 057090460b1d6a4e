package bench

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Whoever mistypes a command is told the one that was meant: each of the usage.
func TestMistypedCommandsAreCorrected(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile(`(?m)^  rialto bench ([a-z]+)`).FindAllStringSubmatch(usage, -1)
	if len(commands) < 10 {
		t.Fatalf("the usage has %d commands", len(commands))
	}
	for _, c := range commands {
		var out, errOut strings.Builder
		if code := Main([]string{c[1] + "x"}, &out, &errOut); code != 2 || !strings.Contains(errOut.String(), fmt.Sprintf("did you mean %q", c[1])) {
			t.Errorf("%sx: exit code %d, %.80s", c[1], code, errOut.String())
		}
	}
}

// A flag of a search that is out of range is refused with the range, before anything is called.
func TestSearchFlagsHaveRanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"--messages 0", "-messages: the number must be at least 1"}, {"--changes -1", "-changes: the number must be at least 0"}, {"--probes 101", "-probes: the number must be from 1 to 100"},
		{"--size 10001", fmt.Sprintf("-size: the number must be from %d to 10000", minSearchText)}, {"--messages 10", "--messages must be at least --groups"},
		{"--users 4", "--users must be at least --group-size"}, {"--rate 5", "--probes must be at most --rate"},
	} {
		var c searchConfig
		var errOut strings.Builder
		if code, ok := c.parse(strings.Fields(test.args), &errOut); ok || code != 2 || !strings.Contains(errOut.String(), test.want) {
			t.Errorf("%s: exit code %d, %v, %.160s; want %q", test.args, code, ok, errOut.String(), test.want)
		}
	}
	var c searchConfig
	if _, ok := c.parse(strings.Fields("--messages 1,000 --changes 0"), &strings.Builder{}); !ok || c.messages != 1000 || c.changes != 0 {
		t.Errorf("the flags are %+v", c)
	}
}
