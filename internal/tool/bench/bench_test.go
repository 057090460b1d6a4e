package bench

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// Each command of the usage is one that a mistyped word may mean.
func TestMistypedCommandsAreRecognized(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^  rialto bench (\w+)`).FindAllStringSubmatch(usage, -1)
	if len(lines) != 10 {
		t.Errorf("the usage has %d commands", len(lines))
	}
	for _, line := range lines {
		var errOut strings.Builder
		if code := Main([]string{line[1] + "x"}, io.Discard, &errOut); code != 2 || !strings.Contains(errOut.String(), fmt.Sprintf("did you mean %q?", line[1])) {
			t.Errorf("%sx: %d, %.100q", line[1], code, errOut.String())
		}
	}
}
