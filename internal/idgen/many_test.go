package idgen_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
)

// An id says when and where it was made, and fits where a signed number does. A millisecond has 4,096 of them and no more,
// however many ask.
func TestSnowflakesOfManyAskers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 40 * 24 * time.Hour) // the bubble begins in 2000
		const askers, each, worker = 8, 5000, 1023
		g := snowflake(t, clock.System{}, worker)
		began := time.Now().UnixMilli()
		all := make([][]uint64, askers)
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				for range each {
					v, err := g.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					all[i] = append(all[i], v)
				}
			})
		}
		wait.Wait()
		seen, inMs := map[uint64]bool{}, map[int64]int{}
		for _, list := range all {
			for i, v := range list {
				ms := int64(v>>22) + idgen.Epoch
				switch {
				case seen[v]:
					t.Fatalf("%d was given twice", v)
				case i > 0 && v <= list[i-1]:
					t.Fatalf("%d after %d", v, list[i-1])
				case v>>63 != 0 || v>>12&0x3ff != worker || ms < began || ms > time.Now().UnixMilli():
					t.Fatalf("%d is of worker %d at %d", v, v>>12&0x3ff, ms)
				}
				seen[v] = true
				inMs[ms]++
			}
		}
		for ms, n := range inMs {
			if n > 4096 {
				t.Errorf("%d ids in millisecond %d", n, ms)
			}
		}
		if want := askers * each / 4096; len(inMs) < want {
			t.Errorf("%d ids in %d milliseconds", askers*each, len(inMs))
		}
	})
}

// A worker's number that is too large is refused: cut, it would be another's.
func TestSnowflakesOfAWorkerTooFar(t *testing.T) {
	if _, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(clock.System{}, 1024+7), idgen.SnowflakeConfig{}); err == nil {
		t.Error("a worker of 1,031 in 10 bits")
	}
}

// Messages' ids rise whatever the clock does, and come back to its time when it has caught up.
func TestMessageIDsRiseThroughClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &stepping{}
		g := messages(t, c)
		var last id.Message
		next := func() {
			t.Helper()
			m, err := g.Next(2, 77)
			if err != nil || m.String() <= last.String() || m.Type() != 2 || m.Low22() != 77 {
				t.Fatalf("%s of type %d after %s, %v", m, m.Type(), last, err)
			}
			last = m
		}
		for range 10_000 { // two milliseconds' worth more than the clock has
			next()
		}
		if ahead := last.Ms() - c.Now().UnixMilli(); ahead != 2 {
			t.Errorf("%d ms ahead", ahead)
		}
		time.Sleep(time.Second)
		next()
		if last.Ms() != c.Now().UnixMilli() {
			t.Errorf("the clock says %d, and the id %d", c.Now().UnixMilli(), last.Ms())
		}
		c.step(time.Hour)
		before := last.Ms()
		for range 100 {
			next()
		}
		if last.Ms() != before {
			t.Errorf("an hour back: from %d to %d", before, last.Ms())
		}
		time.Sleep(time.Hour + time.Second)
		next()
		if last.Ms() != c.Now().UnixMilli() {
			t.Errorf("the clock has caught up to %d, and the id says %d", c.Now().UnixMilli(), last.Ms())
		}
	})
}
