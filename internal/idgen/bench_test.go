package idgen_test

import (
	"crypto/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
)

// turn has n askers share a number of ids, and tells how long that took.
func turn(b *testing.B, n, ids int, next func() error) time.Duration {
	var wait sync.WaitGroup
	began := time.Now()
	for range n {
		wait.Go(func() {
			for range ids / n {
				if err := next(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return time.Since(began)
}

// quick is a clock that is ahead of time by as much again, so that the scheme's own limit of ids in a millisecond is not
// what is measured.
type quick struct{ from time.Time }

func (q quick) Now() time.Time {
	now := time.Now()
	return now.Add(now.Sub(q.from) * 255)
}

// BenchmarkSnowflake has the scheme's limit, of all the time, and the code's, of the quickest turn.
func BenchmarkSnowflake(b *testing.B) {
	ctx := b.Context()
	for name, layout := range map[string]idgen.Layout{"12 bits": {}, "22 bits": {TimeBits: 39, WorkerBits: 2, SequenceBits: 22}} {
		b.Run(name, func(b *testing.B) {
			g, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 1), idgen.SnowflakeConfig{Layout: layout})
			if err != nil {
				b.Fatal(err)
			}
			const ids = 1 << 17
			var all, best time.Duration
			turns := max(b.N/ids, 1)
			for range turns {
				took := turn(b, askers, ids, func() error { _, err := g.Next(ctx); return err })
				all += took
				if best == 0 || took < best {
					best = took
				}
			}
			b.ReportMetric(float64(turns*ids)/all.Seconds()/1e6, "million/s")
			b.ReportMetric(ids/best.Seconds()/1e6, "best-million/s")
		})
	}
}

// BenchmarkSnowflakesAtOnce has the code's limit where 100 are asked for at once.
func BenchmarkSnowflakesAtOnce(b *testing.B) {
	ctx := b.Context()
	g, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 1), idgen.SnowflakeConfig{Layout: idgen.Layout{TimeBits: 39, WorkerBits: 2, SequenceBits: 22}})
	if err != nil {
		b.Fatal(err)
	}
	lists := make(chan []uint64, askers)
	for range askers {
		lists <- make([]uint64, 100)
	}
	const calls = 1 << 12
	var all time.Duration
	turns := max(b.N/calls/100, 1)
	for range turns {
		all += turn(b, askers, calls, func() error {
			list := <-lists
			defer func() { lists <- list }()
			return g.Fill(ctx, list)
		})
	}
	b.ReportMetric(float64(turns*calls*100)/all.Seconds()/1e6, "million/s")
}

// BenchmarkText has ours beside others, in turns of a few milliseconds, and reports the quickest turn of each: so a noisy machine
// disturbs all alike.
func BenchmarkText(b *testing.B) {
	m, err := idgen.NewMessages(b.Context(), idgen.Fixed(quick{time.Now()}, 0), idgen.MessagesConfig{})
	if err != nil {
		b.Fatal(err)
	}
	u, l := idgen.NewUUIDv7(clock.System{}), idgen.NewULID(clock.System{})
	entropy := &ulid.LockedMonotonicReader{MonotonicReader: ulid.Monotonic(rand.Reader, 0)}
	peers := []struct {
		name string
		next func() error
	}{
		{"readable", func() error { _, err := m.Next(1, id.Conversation(7)); return err }},
		{"uuidv7", func() error { _, err := u.Next(); return err }},
		{"ulid", func() error { _, err := l.Next(); return err }},
		{"google-uuidv7", func() error { _, err := uuid.NewV7(); return err }},
		{"oklog-ulid", func() error { _, err := ulid.New(ulid.Now(), entropy); return err }},
	}
	const ids = 4096
	for _, n := range []int{1, askers} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			best := make([]time.Duration, len(peers))
			for range max(b.N/ids, 1) {
				for i, p := range peers {
					if took := turn(b, n, ids, p.next); best[i] == 0 || took < best[i] {
						best[i] = took
					}
				}
			}
			for i, p := range peers {
				b.ReportMetric(float64(best[i].Nanoseconds())/ids, p.name+"-ns/id")
			}
		})
	}
}
