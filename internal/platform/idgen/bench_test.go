package idgen_test

import (
	"crypto/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// callers is the number of goroutines in the performance bars.
const callers = 8

// measure lets n callers share a number of ids, and returns how long that took.
func measure(b *testing.B, n, ids int, next func() error) time.Duration {
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

// quick is a clock that runs at twice the speed, so that the scheme's limit of ids per millisecond is not what is measured.
type quick struct{ from time.Time }

func (q quick) Now() time.Time {
	now := time.Now()
	return now.Add(now.Sub(q.from) * 255)
}

// BenchmarkSnowflake reports the scheme's limit over all the time, and the code's in the fastest run.
func BenchmarkSnowflake(b *testing.B) {
	ctx := b.Context()
	for name, layout := range map[string]idgen.Layout{"12 bits": {Time: 41, Worker: 10, Sequence: 12}, "22 bits": {Time: 39, Worker: 2, Sequence: 22}} {
		b.Run(name, func(b *testing.B) {
			g, err := idgen.NewSnowflakeOf(ctx, idgen.Fixed(clock.System{}, 1), layout)
			if err != nil {
				b.Fatal(err)
			}
			const ids = 1 << 17
			var all, best time.Duration
			turns := max(b.N/ids, 1)
			for range turns {
				took := measure(b, callers, ids, func() error { _, err := g.Next(ctx); return err })
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

// BenchmarkSnowflakesAtOnce reports the code's limit for batches of 100.
func BenchmarkSnowflakesAtOnce(b *testing.B) {
	ctx := b.Context()
	g, err := idgen.NewSnowflakeOf(ctx, idgen.Fixed(clock.System{}, 1), idgen.Layout{Time: 39, Worker: 2, Sequence: 22})
	if err != nil {
		b.Fatal(err)
	}
	lists := make(chan []uint64, callers)
	for range callers {
		lists <- make([]uint64, 100)
	}
	const calls = 1 << 12
	var all time.Duration
	turns := max(b.N/calls/100, 1)
	for range turns {
		all += measure(b, callers, calls, func() error {
			list := <-lists
			defer func() { lists <- list }()
			return g.Fill(ctx, list)
		})
	}
	b.ReportMetric(float64(turns*calls*100)/all.Seconds()/1e6, "million/s")
}

// BenchmarkText compares our generators with others in alternating runs of a few milliseconds and reports the fastest run of each, so that
// noise affects all alike.
func BenchmarkText(b *testing.B) {
	m, err := idgen.NewMessages(b.Context(), idgen.Fixed(quick{time.Now()}, 0), idgen.MessagesConfig{})
	if err != nil {
		b.Fatal(err)
	}
	u, l := ids.NewUUIDv7(clock.System{}.Now), ids.NewULIDs(clock.System{}.Now)
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
	for _, n := range []int{1, callers} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			best := make([]time.Duration, len(peers))
			for range max(b.N/ids, 1) {
				for i, p := range peers {
					if took := measure(b, n, ids, p.next); best[i] == 0 || took < best[i] {
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
