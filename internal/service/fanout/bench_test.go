package fanout_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDispatch appends messages of 200 bytes to conversations in Pebble and dispatches them, until all are in their inboxes
// and on the bus. It reports the processor time of a message and the deliveries in a second, appending and storing included.
func BenchmarkDispatch(b *testing.B) {
	for name, size := range map[string]int{"pairs": 2, "groups of 100": 100} {
		b.Run(name, func(b *testing.B) {
			const conversations = 1000
			s := newStage(b, onDisk(b))
			var delivered atomic.Int64
			s.count = &delivered
			for c := range id.Conversation(conversations) {
				for u := range size {
					s.chat.of[c+1] = append(s.chat.of[c+1], 6*(id.User(c)*7+id.User(u)+1)) // on both nodes
				}
				slices.Sort(s.chat.of[c+1])
			}
			s.start()
			payload := textEntry(strings.Repeat("text ", 40))
			window := make(chan struct{}, 8192)
			var done sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			before, start := cpu(b), time.Now()
			for i := range b.N {
				window <- struct{}{}
				done.Add(1)
				s.log.Append(&timeline.AppendRequest{Key: conversation(id.Conversation(1 + i%conversations)), Payload: payload, Counts: true, NeedsFanout: true,
					Token: timeline.Token{Sender: uint64(1 + i%conversations), Device: 1, Counter: uint64(i + 1)}, Done: func(a *timeline.AppendRequest) {
						if a.Err != nil {
							b.Error(a.Err)
						}
						<-window
						done.Done()
					}})
			}
			done.Wait()
			for !s.worker.Load().Idle() {
				time.Sleep(time.Millisecond) // polls rarely, so as not to disturb the measurement
			}
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N*size)/time.Since(start).Seconds(), "deliveries/s")
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "messages/s")
			runtime.KeepAlive(&delivered)
			s.stop()
			must(b, s.log.Close())
		})
	}
}
