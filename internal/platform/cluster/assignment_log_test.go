package cluster

import (
	"log/slog"
	"strings"
	"testing"
)

// A node that gets or loses many parts logs them in one line, with their numbers.
func TestManyPartsAreLoggedInOneLine(t *testing.T) {
	var out strings.Builder
	s := newDecisions(Config{}, []Work{{Kind: "fanout", Parts: 64}, {Kind: "outbox", Parts: 1}}, slog.New(slog.NewTextHandler(&out, nil)), clocks{}, 1)
	for i := range 64 {
		s.assign(part{"fanout", (i * 37) % 64}, 1)
	}
	s.assign(part{"outbox", 0}, 1)
	s.logAssignments()
	s.logAssignments()
	for _, i := range []int{3, 1, 2, 9, 63} {
		s.revoke(part{"fanout", i})
	}
	s.logAssignments()
	for _, want := range []string{`work=fanout parts=0-63 count=64`, `work=outbox parts=0 count=1`, `work=fanout parts="1-3 9 63" count=5`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
