package natsbus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

// A subject that was not used for long is no longer tallied, and its next message is not a gap.
func TestIdleSubjectsAreForgotten(t *testing.T) {
	b := start(t, "n", natsbus.Config{Tally: time.Hour})
	received := make(chan string, 10)
	_, err := b.Subscribe("s", func(data []byte) { received <- string(data) }, func() { received <- "a gap" })
	must(t, err)
	for _, text := range []string{"one", "two", "three"} {
		must(t, b.Publish("s", []byte(text)))
		if got := <-received; got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if n := b.TallyAt(time.Now().Add(time.Minute)); n != 1 {
			t.Errorf("got %d subjects after a minute", n)
		}
		if n := b.TallyAt(time.Now().Add(11 * time.Minute)); n != 0 {
			t.Errorf("got %d subjects after eleven minutes, want 0", n)
		}
	}
}

// A publisher with too many subjects gets an error, and can still use the subjects that it has.
func TestTooManySubjects(t *testing.T) {
	b := start(t, "n", natsbus.Config{Tally: time.Hour})
	for n := range 16_384 {
		must(t, b.Publish(fmt.Sprint("user.", n), nil))
	}
	err := b.Publish("user.one-more", nil)
	var e *errs.Error
	if !errors.As(err, &e) || e.Reason != "bus_subjects" {
		t.Errorf("error %v, want the reason bus_subjects", err)
	}
	must(t, b.Publish("user.0", nil))
}
