package bench

import (
	"io"
	"testing"
	"time"
)

// The ratios are those of what was useful to the peak, and to what was offered once the server had recovered.
func TestOverloadRatios(t *testing.T) {
	r := &overloadResult{Peak: overloadPhase{Useful: 1000}, Over: overloadPhase{Useful: 850}}
	step := func(useful float64) overloadPhase {
		return overloadPhase{Seconds: 2, Offered: 700, Useful: useful}
	}
	r.compare([]overloadPhase{step(100), step(600), step(700), step(672)})
	if r.DuringRatio != 0.85 || r.RecoveredAfter != 4 || r.AfterRatio != 0.98 {
		t.Errorf("the ratios are %.2f and %.2f after %v s", r.DuringRatio, r.AfterRatio, r.RecoveredAfter)
	}
	r.compare([]overloadPhase{step(100), step(600)})
	if r.RecoveredAfter != -1 || r.AfterRatio != 0 {
		t.Errorf("without a recovery the ratio is %.2f after %v s", r.AfterRatio, r.RecoveredAfter)
	}
}

// A phase counts what was acknowledged in it, and as useful what was in time.
func TestOverloadPhases(t *testing.T) {
	c := &client{to: &conversation{}}
	l := &load{clients: []*client{c}}
	c.ack.add(time.Millisecond)
	m := l.startPhase(time.Second)
	for range 6 {
		c.ack.add(10 * time.Millisecond)
	}
	c.ack.add(5 * time.Second)
	c.resent = 3
	m.began = time.Now().Add(-10 * time.Second)
	p := m.end(100)
	if got := int(p.Acked*p.Seconds + 0.5); got != 7 || int(p.Useful*p.Seconds+0.5) != 6 || int(p.Offered*p.Seconds+0.5) != 100 || p.Resent != 3 {
		t.Errorf("the phase is %+v", p)
	}
}

func TestOverloadFlags(t *testing.T) {
	for _, bad := range [][]string{{"--pairs", "0"}, {"--backlog", "4"}, {"--for", "0s"}, {"--factor", "0"}, {"x"}, {"--url", "nowhere"}} {
		var c overloadConfig
		if code, ok := c.parse(bad, io.Discard); ok || code != 2 {
			t.Errorf("%q: code %d, %v", bad, code, ok)
		}
	}
	var c overloadConfig
	if _, ok := c.parse([]string{"--pairs", "10"}, io.Discard); !ok || c.over != time.Minute || c.factor != 2 {
		t.Errorf("the defaults are %+v", c)
	}
}
