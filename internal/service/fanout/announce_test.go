package fanout_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/fanout"
)

// hangingBus is a bus whose Publish blocks until resume is closed.
type hangingBus struct {
	bus.Bus
	hangs  chan struct{} // signalled by each blocked Publish
	resume chan struct{}
	bytes  atomic.Int64 // published
}

func (b *hangingBus) Publish(subject string, data []byte) error {
	select {
	case b.hangs <- struct{}{}:
	default:
	}
	<-b.resume
	b.bytes.Add(int64(len(data)))
	return b.Bus.Publish(subject, data)
}

// newAnnouncer runs a worker on node a until the test ends. Node b owns all partitions.
func newAnnouncer(t testing.TB, on bus.Bus) *fanout.Worker {
	w := fanout.New(fanout.Deps{Bus: on, Directory: owners{}, Logger: slog.New(slog.DiscardHandler), Node: "a", Owner: func(uint16) string { return "b" }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	return w
}

// committed is a record of one entry.
func committed(record uint64, payload []byte) []timeline.Commit {
	return []timeline.Commit{{Partition: 1, RecordSeq: record, Entries: []timeline.CommittedEntry{{Key: conversation(1), Seq: record, Payload: payload}}}}
}

// TestCommitsAreAnnouncedOutsideTheLog: while the bus hangs, commits go on, and queued announcements are bounded. Later the peer gets
// the queued announcements, and new ones.
func TestCommitsAreAnnouncedOutsideTheLog(t *testing.T) {
	const piece, bound = 1 << 19, 8 << 20
	on := &hangingBus{Bus: membus.New(), hangs: make(chan struct{}, 1), resume: make(chan struct{})}
	received := make(chan int, 1000)
	_, err := on.Bus.Subscribe("node.b.commit", func(data []byte) { received <- len(data) }, nil)
	must(t, err)
	w := newAnnouncer(t, on)
	committing := make(chan struct{})
	go func() {
		defer close(committing)
		w.Committed(committed(1, make([]byte, piece)))
		<-on.hangs
		for i := range uint64(4 * bound / piece) {
			w.Committed(committed(2+i, make([]byte, piece)))
		}
	}()
	select {
	case <-committing:
	case <-time.After(time.Minute):
		close(on.resume)
		t.Fatal("Committed waits for the bus")
	}
	close(on.resume)
	for last := false; !last; {
		w.Committed(committed(1000, []byte("last")))
		last = <-received < piece
	}
	if got := on.bytes.Load(); got < bound/2 || got > bound+piece+1<<16 {
		t.Errorf("%d bytes were announced; the bound is about 8 MiB", got)
	}
}

// sink is a bus that counts what is published.
type sink struct {
	bus.Bus
	bytes atomic.Int64
}

func (b *sink) Publish(_ string, data []byte) error {
	b.bytes.Add(int64(len(data)))
	return nil
}

// BenchmarkAnnounce commits batches of 16 entries of 200 bytes whose partitions another node owns. It reports the processor time per
// commit, up to publishing.
func BenchmarkAnnounce(b *testing.B) {
	const batch, size, window = 16, 200, 4096
	on := &sink{Bus: membus.New()}
	w := newAnnouncer(b, on)
	commits := make([]timeline.Commit, batch)
	payload := make([]byte, size)
	for i := range commits {
		commits[i] = timeline.Commit{Partition: uint16(i), Entries: []timeline.CommittedEntry{{Key: conversation(1), Seq: 1, Payload: payload}}}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for i := range b.N / batch {
		w.Committed(commits)
		for int64(size*(i*batch-window)) > on.bytes.Load() {
			time.Sleep(10 * time.Microsecond) // polls rarely, so as not to disturb the measurement
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
