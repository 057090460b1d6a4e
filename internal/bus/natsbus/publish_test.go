package natsbus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus/natsbus"
	"github.com/rialto-im/rialto/internal/errs"
)

// TestForgotten: a subject on which nothing was said for long is tallied no more, and what is said then is no hole.
func TestForgotten(t *testing.T) {
	b := start(t, "n", natsbus.Config{Tally: time.Hour})
	heard := make(chan string, 10)
	_, err := b.Subscribe("s", func(data []byte) { heard <- string(data) }, func() { heard <- "a hole" })
	must(t, err)
	for _, text := range []string{"one", "two", "three"} {
		must(t, b.Publish("s", []byte(text)))
		if got := <-heard; got != text {
			t.Errorf("heard %q, not %q", got, text)
		}
		if n := b.TallyAt(time.Now().Add(time.Minute)); n != 1 {
			t.Errorf("%d subjects after a minute", n)
		}
		if n := b.TallyAt(time.Now().Add(11 * time.Minute)); n != 0 {
			t.Errorf("%d subjects after eleven minutes", n)
		}
	}
}

// TestTooManySubjects: who names users by subjects is told, and goes on with those that it has.
func TestTooManySubjects(t *testing.T) {
	b := start(t, "n", natsbus.Config{Tally: time.Hour})
	for n := range 16_384 {
		must(t, b.Publish(fmt.Sprint("user.", n), nil))
	}
	err := b.Publish("user.one-more", nil)
	var e *errs.Error
	if !errors.As(err, &e) || e.Reason != "bus_subjects" {
		t.Error(err)
	}
	must(t, b.Publish("user.0", nil))
}
