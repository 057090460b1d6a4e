package idgen_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// An id contains its time and worker id, and fits into a signed number. A millisecond has at most 4,096 ids, however many callers there are.
func TestSnowflakesOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 40 * 24 * time.Hour) // the bubble begins in 2000
		const callers, each, worker = 8, 5000, 1023
		g := snowflake(t, clock.System{}, worker)
		began := time.Now().UnixMilli()
		all := make([][]uint64, callers)
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
				ms := int64(v>>22) + ids.Epoch
				switch {
				case seen[v]:
					t.Fatalf("id %d was issued twice", v)
				case i > 0 && v <= list[i-1]:
					t.Fatalf("%d after %d", v, list[i-1])
				case v>>63 != 0 || v>>12&0x3ff != worker || ms < began || ms > time.Now().UnixMilli():
					t.Fatalf("id %d has worker %d and time %d", v, v>>12&0x3ff, ms)
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
		if want := callers * each / 4096; len(inMs) < want {
			t.Errorf("%d ids in %d milliseconds", callers*each, len(inMs))
		}
	})
}

// A worker id that is too large is rejected: truncated, it would be another worker's.
func TestTooLargeWorkerIDsAreRejected(t *testing.T) {
	if _, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(clock.System{}, 1024+7), idgen.SnowflakeConfig{}); err == nil {
		t.Error("worker id 1,031 was accepted for 10 bits")
	}
}

// Message ids increase whatever the clock does, and follow it again when it has caught up.
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
		for range 10_000 { // two milliseconds ahead of the clock
			next()
		}
		if ahead := last.Ms() - c.Now().UnixMilli(); ahead != 2 {
			t.Errorf("%d ms ahead", ahead)
		}
		time.Sleep(time.Second)
		next()
		if last.Ms() != c.Now().UnixMilli() {
			t.Errorf("the clock is at %d, the id at %d", c.Now().UnixMilli(), last.Ms())
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
			t.Errorf("the clock has caught up to %d, but the id has %d", c.Now().UnixMilli(), last.Ms())
		}
	})
}
