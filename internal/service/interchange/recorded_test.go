package interchange

import (
	"strconv"
	"testing"
	"time"
)

// TestWhatIsRememberedIsBounded: beyond the bound, entries are forgotten, those of more than an hour ago first.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	var r recorded
	now := time.UnixMilli(0)
	old, young := trace{"olga", exporting, users}, trace{"olga", exporting, files}
	r.add(old, now)
	now = now.Add(recordEvery)
	r.add(young, now)
	for i := range maxRecorded - 1 {
		r.add(trace{"olga", exporting, strconv.Itoa(i)}, now)
	}
	if r.has(old, now) || !r.has(young, now) || len(r.at) != maxRecorded {
		t.Errorf("%d are remembered: the old one %v, the young one %v", len(r.at), r.has(old, now), r.has(young, now))
	}
	r.add(old, now)
	if !r.has(old, now) || r.has(young, now) || len(r.at) != 1 {
		t.Errorf("beyond the bound, %d are remembered", len(r.at))
	}
}
