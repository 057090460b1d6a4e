package idservice_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idservice"
)

// callers is the number of goroutines in the performance bars.
const callers = 8

// perSecond divides b.N operations among the askers and reports the rate.
func perSecond(b *testing.B, run func(caller, n int) error) {
	var wait sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		wait.Go(func() {
			if err := run(i, b.N/callers+1); err != nil {
				b.Error(err)
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "million/s")
}

// alongside runs a part while the benchmark does.
func alongside(b *testing.B, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkSegments is BAR-I2: one tag, one number at a call.
func BenchmarkSegments(b *testing.B) {
	way := &breaking{db: store(b)}
	if _, err := benchTags(b, way).PutTag(b.Context(), idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment}); err != nil {
		b.Fatal(err)
	}
	s, err := idservice.NewSegments(b.Context(), counterDeps(way, clock.System{}), idservice.SegmentsConfig{})
	if err != nil {
		b.Fatal(err)
	}
	alongside(b, s.Run)
	g, err := s.Of(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	for range 30_000_000 { // until the step has adapted to the demand
		if _, err := g.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	way.writes.Store(0)
	perSecond(b, func(_, n int) error {
		for range n {
			if _, err := g.Next(b.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportMetric(float64(way.writes.Load()), "refills")
}

// BenchmarkSegmentWait measures how long a caller waits, in nanoseconds, while seven others call without pause.
func BenchmarkSegmentWait(b *testing.B) {
	db := store(b)
	if _, err := benchTags(b, db).PutTag(b.Context(), idservice.Tag{Name: "a", Scheme: idservice.SchemeSegment}); err != nil {
		b.Fatal(err)
	}
	s, err := idservice.NewSegments(b.Context(), counterDeps(db, clock.System{}), idservice.SegmentsConfig{})
	if err != nil {
		b.Fatal(err)
	}
	alongside(b, s.Run)
	g, err := s.Of(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	for range 30_000_000 {
		if _, err := g.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var all [callers][]time.Duration
	perSecond(b, func(caller, n int) error {
		waits := make([]time.Duration, 0, n)
		for range n {
			began := time.Now()
			if _, err := g.Next(b.Context()); err != nil {
				return err
			}
			waits = append(waits, time.Since(began))
		}
		all[caller] = waits
		return nil
	})
	waits := slices.Concat(all[:]...)
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2]), "p50-ns")
	b.ReportMetric(float64(waits[len(waits)*999/1000]), "p99.9-ns")
	b.ReportMetric(float64(waits[len(waits)-1]), "max-ns")
}

func benchTags(b *testing.B, db idservice.Records) *idservice.Tags {
	tags, err := idservice.NewTags(b.Context(), counterDeps(db, clock.System{}))
	if err != nil {
		b.Fatal(err)
	}
	return tags
}

func benchSequences(b *testing.B, db idservice.Records) (*idservice.Sequences, *idservice.Sequence) {
	s, err := idservice.NewSequences(b.Context(), counterDeps(db, clock.System{}), idservice.SequencesConfig{Node: "a", Exclusive: true})
	if err != nil {
		b.Fatal(err)
	}
	q, err := s.Of(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	return s, q
}

// BenchmarkSequences is BAR-I3: a million keys, one number for each call, and the number of stored bounds for 10,000 numbers of a
// section.
func BenchmarkSequences(b *testing.B) {
	way := &breaking{db: store(b)}
	if _, err := benchTags(b, way).PutTag(b.Context(), idservice.Tag{Name: "a", Scheme: idservice.SchemeSequence}); err != nil {
		b.Fatal(err)
	}
	s, q := benchSequences(b, way)
	alongside(b, s.Run)
	const keys = 1_000_000
	for key := range uint64(keys) {
		if _, err := q.Next(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
	before := way.writes.Load()
	perSecond(b, func(caller, n int) error {
		x := uint64(caller) + 1
		for range n {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			if _, err := q.Next(b.Context(), x%keys); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportMetric(float64(way.writes.Load()-before)/(float64(b.N)/10_000/10), "stored/10,000-of-a-section")
}

// BenchmarkSequencesHotKeys: each goroutine increments its own key, all in one section, so the bound must rise as fast.
func BenchmarkSequencesHotKeys(b *testing.B) {
	way := &breaking{db: store(b)}
	if _, err := benchTags(b, way).PutTag(b.Context(), idservice.Tag{Name: "a", Scheme: idservice.SchemeSequence}); err != nil {
		b.Fatal(err)
	}
	s, q := benchSequences(b, way)
	alongside(b, s.Run)
	var highest atomic.Uint64
	perSecond(b, func(caller, n int) error {
		var v uint64
		var err error
		for range n {
			if v, err = q.Next(b.Context(), uint64(caller)*5000); err != nil {
				return err
			}
		}
		for old := highest.Load(); old < v && !highest.CompareAndSwap(old, v); old = highest.Load() {
		}
		return nil
	})
	b.ReportMetric(float64(way.writes.Load())/(float64(highest.Load())/10_000), "stored/10,000")
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSequencesRestart is BAR-I6: the time from opening the store, after ten million keys were used, to the first number, and to a
// number of each section.
func BenchmarkSequencesRestart(b *testing.B) {
	const keys, section = 10_000_000, 100_000
	place := sqltest.Place(b)
	db, err := sqldb.Open(b.Context(), place)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := benchTags(b, db).PutTag(b.Context(), idservice.Tag{Name: "a", Scheme: idservice.SchemeSequence}); err != nil {
		b.Fatal(err)
	}
	before := heap()
	_, q := benchSequences(b, db)
	for key := range uint64(keys) {
		if _, err := q.Next(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
	held := heap() - before
	runtime.KeepAlive(q)
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	var first, each time.Duration
	b.ResetTimer()
	for range b.N {
		began := time.Now()
		db, err := sqldb.Open(b.Context(), place)
		if err != nil {
			b.Fatal(err)
		}
		_, q := benchSequences(b, db)
		if _, err := q.Next(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
		first = max(first, time.Since(began))
		for key := uint64(0); key < keys; key += section {
			if _, err := q.Next(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
		each = max(each, time.Since(began))
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(held)/keys, "bytes/key")
	b.ReportMetric(first.Seconds()*1000, "first-ms")
	b.ReportMetric(each.Seconds()*1000, "all-sections-ms")
}
