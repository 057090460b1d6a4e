package pglog

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// BenchmarkTails compares concurrent reads of many inboxes' tails in one call with single reads, as a gateway does for its connections
// after a gap on the bus.
func BenchmarkTails(b *testing.B) {
	const keys, readers = 10_000, 8
	l, err := Open(b.Context(), sqltest.Schema(b, sqltest.Private(b, "fsync=off", "shared_buffers=256MB").URL), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for p := range uint16(timeline.Partitions) {
		if err := l.Acquire(b.Context(), p, 1); err != nil {
			b.Fatal(err)
		}
	}
	all := make([]timeline.Key, keys)
	posts := make([]timeline.Post, keys)
	for i := range all {
		all[i] = timeline.Key{Kind: timeline.Inbox, ID: uint64(i)*2654435761 + 1}
		posts[i] = timeline.Post{Key: all[i], Payload: []byte("p")}
	}
	for some := range slices.Chunk(posts, 1000) {
		if err := l.Post(b.Context(), some); err != nil {
			b.Fatal(err)
		}
	}
	var took [3]time.Duration
	ways := []int{1, 100, 512}
	for b.Loop() {
		for i, together := range ways {
			began := time.Now()
			work := make(chan []timeline.Key)
			var wait sync.WaitGroup
			for range readers {
				wait.Go(func() {
					for some := range work {
						if err := ask(b.Context(), l, some); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for some := range slices.Chunk(all, together) {
				work <- some
			}
			close(work)
			wait.Wait()
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	perKey := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N*keys) }
	b.ReportMetric(perKey(took[0]), "µs/key-alone")
	b.ReportMetric(perKey(took[1]), "µs/key-by-100")
	b.ReportMetric(perKey(took[2]), "µs/key-by-512")
	b.ReportMetric(took[0].Seconds()/took[2].Seconds(), "ratio")
}

func ask(ctx context.Context, l *Log, keys []timeline.Key) (err error) {
	if len(keys) == 1 {
		_, err = l.Tail(ctx, keys[0])
	} else {
		_, err = l.Tails(ctx, keys)
	}
	return err
}
