package fanout_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/timeline"
)

// silent is a bus on which whoever publishes hangs, until it goes on.
type silent struct {
	bus.Bus
	hangs chan struct{} // one for each who began to
	goOn  chan struct{}
	bytes atomic.Int64 // that were published
}

func (b *silent) Publish(subject string, data []byte) error {
	select {
	case b.hangs <- struct{}{}:
	default:
	}
	<-b.goOn
	b.bytes.Add(int64(len(data)))
	return b.Bus.Publish(subject, data)
}

// teller runs a worker on node a, whose partitions are all node b's, until the test ends.
func teller(t testing.TB, on bus.Bus) *fanout.Worker {
	w := fanout.New(fanout.Deps{Bus: on, Presence: places{}, Logger: slog.New(slog.DiscardHandler), Node: "a", Holder: func(uint16) string { return "b" }})
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
	return []timeline.Commit{{Partition: 1, Record: record, Entries: []timeline.Committed{{Key: conversation(1), Seq: record, Payload: payload}}}}
}

// TestCommitsAreToldAside: while the bus hangs, who commits goes on, and what waits is bounded. Then it is told what had room, and what
// comes after.
func TestCommitsAreToldAside(t *testing.T) {
	const piece, most = 1 << 19, 8 << 20
	on := &silent{Bus: membus.New(), hangs: make(chan struct{}, 1), goOn: make(chan struct{})}
	heard := make(chan int, 1000)
	_, err := on.Bus.Subscribe("node.b.commit", func(data []byte) { heard <- len(data) }, nil)
	must(t, err)
	w := teller(t, on)
	went := make(chan struct{})
	go func() {
		defer close(went)
		w.Committed(committed(1, make([]byte, piece)))
		<-on.hangs
		for i := range uint64(4 * most / piece) {
			w.Committed(committed(2+i, make([]byte, piece)))
		}
	}()
	select {
	case <-went:
	case <-time.After(time.Minute):
		close(on.goOn)
		t.Fatal("who commits waits for the bus")
	}
	close(on.goOn)
	for last := false; !last; {
		w.Committed(committed(1000, []byte("last")))
		last = <-heard < piece
	}
	if got := on.bytes.Load(); got < most/2 || got > most+piece+1<<16 {
		t.Errorf("%d bytes were kept and told", got)
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

// BenchmarkTell hands batches of 16 commits of 200 bytes over that another node carries. It reports the processor time of one commit,
// until it is on the bus.
func BenchmarkTell(b *testing.B) {
	const batch, size, window = 16, 200, 4096
	on := &sink{Bus: membus.New()}
	w := teller(b, on)
	commits := make([]timeline.Commit, batch)
	payload := make([]byte, size)
	for i := range commits {
		commits[i] = timeline.Commit{Partition: uint16(i), Entries: []timeline.Committed{{Key: conversation(1), Seq: 1, Payload: payload}}}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for i := range b.N / batch {
		w.Committed(commits)
		for int64(size*(i*batch-window)) > on.bytes.Load() {
			time.Sleep(10 * time.Microsecond) // for nothing but a quiet processor
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
