package timeline_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

func TestCorruptionIsConfirmedByCountAndTime(t *testing.T) {
	key := timeline.Key{Kind: timeline.Conversation, ID: 1}
	began := time.Unix(1000, 0)
	var d timeline.CorruptionDetector
	observe := func(k timeline.Key, seq uint64, after time.Duration, want bool) *timeline.Suspect {
		t.Helper()
		s, confirmed := d.Observe(k, seq, began.Add(after))
		if confirmed != want {
			t.Errorf("entry %d after %v: confirmed is %v, want %v", seq, after, confirmed, want)
		}
		return s
	}
	for range 10 {
		observe(key, 1, 0, false) // many observations in no time
	}
	observe(key, 1, 5*time.Second, true)
	for i := range 4 {
		observe(key, 2, time.Duration(i)*time.Minute, false) // few observations in a long time
	}
	observe(key, 2, 4*time.Minute, true)

	d.ForgetSuspects()
	observe(key, 2, 5*time.Minute, false)
	d.Confirm(key, began.Add(5*time.Minute))
	observe(key, 3, 5*time.Minute+59*time.Second, true) // another entry of that timeline, within the cooldown
	observe(key, 4, 6*time.Minute, false)               // after it
	observe(timeline.Key{Kind: timeline.Inbox, ID: 1}, 3, 5*time.Minute, false)

	observe(key, 5, 7*time.Minute, false).Handled = true
	observe(key, 5, 7*time.Minute, true)
}

func TestTheDetectorIsBounded(t *testing.T) {
	began, first := time.Unix(1000, 0), timeline.Key{Kind: timeline.Conversation}
	for most, want := range map[int]bool{0: true, 100: false} {
		d := timeline.CorruptionDetector{MaxSuspects: most, Observations: 2}
		for i := range uint64(101) {
			d.Observe(first, i, began)
		}
		if _, confirmed := d.Observe(first, 0, began.Add(time.Minute)); confirmed != want {
			t.Errorf("with at most %d suspects, the first of 101 is remembered: %v, want %v", most, confirmed, want)
		}
	}
	var d timeline.CorruptionDetector
	for i := range uint64(1001) {
		d.Confirm(timeline.Key{Kind: timeline.Conversation, ID: i}, began)
	}
	if _, confirmed := d.Observe(first, 1, began); confirmed {
		t.Error("after 1,001 confirmed timelines the first should be forgotten")
	}
}

func TestTheDetectorNeedsAsManyObservationsAsConfigured(t *testing.T) {
	d, key := timeline.CorruptionDetector{Observations: 2}, timeline.Key{Kind: timeline.Conversation, ID: 1}
	began := time.Unix(1000, 0)
	if _, confirmed := d.Observe(key, 1, began); confirmed {
		t.Error("one observation confirmed corruption")
	}
	if _, confirmed := d.Observe(key, 1, began.Add(time.Minute)); !confirmed {
		t.Error("two observations over a minute did not confirm corruption")
	}
}
