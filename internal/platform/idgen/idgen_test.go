package idgen_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/idgen"
)

type stepping struct {
	mu   sync.Mutex
	back time.Duration
}

func (s *stepping) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(-s.back)
}

func (s *stepping) step(d time.Duration) {
	s.mu.Lock()
	s.back += d
	s.mu.Unlock()
}

func snowflake(t testing.TB, c clock.Clock, worker uint64) *idgen.Snowflake {
	t.Helper()
	g, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(c, worker), idgen.SnowflakeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func messages(t testing.TB, c clock.Clock) *idgen.Messages {
	t.Helper()
	g, err := idgen.NewMessages(t.Context(), idgen.Fixed(c, 0), idgen.MessagesConfig{Ranges: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSnowflakesRiseThroughClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 26 * 24 * time.Hour) // the bubble begins in 2000
		c := &stepping{}
		g := snowflake(t, c, 3)
		last := uint64(0)
		next := func() {
			t.Helper()
			v, err := g.Next(t.Context())
			if err != nil || v <= last || v>>12&0x3ff != 3 {
				t.Fatalf("%d after %d, %v", v, last, err)
			}
			last = v
		}
		for range 10_000 {
			next()
		}
		c.step(50 * time.Millisecond)
		next()
		c.step(time.Hour)
		if _, err := g.Next(t.Context()); !errs.Is(err, errs.Unavailable) {
			t.Fatalf("after an hour back: %v", err)
		}
		time.Sleep(time.Hour + time.Second)
		next()
	})
}

// TestStepsBackOfTheClock: a step back of up to 100 ms is waited out. After a longer one, requests fail at once until the time that the
// error names.
func TestStepsBackOfTheClock(t *testing.T) {
	for _, back := range []time.Duration{time.Millisecond, 99 * time.Millisecond, 100 * time.Millisecond, 101 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(365 * 26 * 24 * time.Hour)
			c := &stepping{}
			g := snowflake(t, c, 3)
			last, err := g.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			c.step(back)
			next, err := g.Next(t.Context())
			waited := time.Since(began)
			if back > 100*time.Millisecond {
				if err == nil {
					t.Fatalf("%v back: an id after a wait of %v", back, waited)
				}
				e := errs.Of(err)
				if e.Kind != errs.Unavailable || e.Reason != "clock_back" || e.Retry != back || waited != 0 {
					t.Errorf("%v back: got %v, retry in %v, after a wait of %v", back, err, e.Retry, waited)
				}
				time.Sleep(back)
				next, err = g.Next(t.Context())
			} else if waited < back {
				t.Errorf("%v back: an id after a wait of %v", back, waited)
			}
			if err != nil || next <= last {
				t.Errorf("%v back: %d after %d, %v", back, next, last, err)
			}
		})
	}
}

func TestMessageIDsAreUnique(t *testing.T) {
	g := messages(t, clock.System{})
	const each = 50_000
	var wait sync.WaitGroup
	var all [4][]string
	for i := range all {
		wait.Go(func() {
			last := ""
			for range each {
				m, err := g.Next(1, 5)
				s := m.String()
				if err != nil || s <= last {
					t.Errorf("%s after %s, %v", s, last, err)
				}
				last = s
				all[i] = append(all[i], s)
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, ids := range all {
		for _, s := range ids {
			seen[s] = true
		}
	}
	if len(seen) != len(all)*each {
		t.Errorf("%d different ids of %d", len(seen), len(all)*each)
	}
}
