package progress

import (
	"strings"
	"testing"
	"time"
)

// TestProgressInLogsAndTerminals: a log gets a line every few seconds; a terminal gets one line that is overwritten.
func TestProgressInLogsAndTerminals(t *testing.T) {
	for terminal, want := range map[bool]string{
		false: "[  0.0s] begins\n[  5.0s] reading: 25 %, 15s left, 50 rows\n[ 10.0s] reading: 50 %, 10s left, 100 rows\n[ 15.0s] reading: 75 %, 5s left, 150 rows\n[ 20.0s] reading: 100 %, 200 rows\n[ 20.0s] ends\n",
		true:  "[  0.0s] begins\n[ 20.0s] reading: 100 %, 200 rows\n[ 20.0s] ends\n",
	} {
		var out strings.Builder
		now := time.Now()
		p := newPrinter(&out, terminal, func() time.Time { return now })
		p.Say("begins")
		s := p.Step("reading")
		for i := range 201 {
			s.At(float64(i)/200, []string{"50 rows", "100 rows", "150 rows", "200 rows"}[max(0, (i-1)/50)])
			if i < 200 {
				now = now.Add(100 * time.Millisecond)
			}
		}
		s.End()
		p.Say("ends")
		got := out.String()
		if terminal { // what remains visible
			if n := strings.Count(got, "\r\x1b[K"); n != 99 {
				t.Errorf("got %d overwritten lines, want 99", n)
			}
			first, rest, _ := strings.Cut(got, "\n")
			got = first + "\n" + rest[strings.LastIndex(rest, "\r\x1b[K")+len("\r\x1b[K"):]
		}
		if got != want {
			t.Errorf("terminal %v:\n%q, not\n%q", terminal, got, want)
		}
	}
	none := Of(t.Context())
	none.Say("nothing")
	none.Step("nothing").At(0.5, "")
	none.Step("nothing").End()
	if p := New(&strings.Builder{}); Of(With(t.Context(), p)) != p {
		t.Error("the context does not return its printer")
	}
}

// TestPercentagesAreClamped: a share below 0 or above 1 is shown as 0 % or 100 %.
func TestPercentagesAreClamped(t *testing.T) {
	var out strings.Builder
	now := time.Now()
	p := newPrinter(&out, false, func() time.Time { return now })
	s := p.Step("x")
	for _, done := range []float64{-1, 2} {
		now = now.Add(time.Minute)
		s.At(done, "")
	}
	if got := out.String(); got != "[ 60.0s] x: 0 %\n[120.0s] x: 100 %\n" {
		t.Errorf("the progress is %q, want a line at 60 s and one at 120 s", got)
	}
}
