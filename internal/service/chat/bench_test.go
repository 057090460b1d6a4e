package chat_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// nothing is a log that discards entries and completes appends at once, from another goroutine. So the benchmark measures the service alone.
type nothing struct {
	timeline.Log
	queue chan *timeline.AppendRequest
}

func (l *nothing) Append(list ...*timeline.AppendRequest) {
	for _, a := range list {
		l.queue <- a
	}
}

func (l *nothing) run() {
	seq := uint64(0)
	for a := range l.queue {
		seq++
		a.Seq, a.Counted, a.Duplicate, a.Err = seq, seq, false, nil
		a.Done(a)
	}
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSubmit sends texts of 200 bytes in 500 one-to-one conversations, with 4,096 in flight: through a log that discards them, and
// through Pebble.
func BenchmarkSubmit(b *testing.B) {
	for _, name := range []string{"nothing", "pebble"} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			h := newHarness(b, chat.Config{})
			store, err := pebblelog.Open(b.TempDir(), pebblelog.Options{})
			must(b, err)
			h.log = store
			opening := h.node(b)
			conversations := make([]id.Conversation, 500)
			for i := range conversations {
				conversations[i], err = opening.OpenDirect(ctx, 1, id.User(i+2))
				must(b, err)
			}
			none := &nothing{Log: store, queue: make(chan *timeline.AppendRequest, 1<<16)}
			if name == "nothing" {
				h.log = none
			}
			var ended sync.WaitGroup
			ended.Go(none.run)
			deps := h.deps(h.db)
			deps.Clock = machineClock{}
			s, err := chat.New(ctx, deps, h.config)
			must(b, err)
			for _, c := range conversations {
				_, _, err := s.ReadableRange(ctx, 1, c)
				must(b, err)
			}
			window := make(chan struct{}, 4096)
			drafts := make([]message.Draft, 8192)
			content := message.AppendText(nil, strings.Repeat("text ", 40))
			done := func(d *message.Draft) {
				if d.Err != nil {
					b.Error(d.Err)
				}
				<-window
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu(b)
			for i := range b.N {
				window <- struct{}{}
				d := &drafts[i%len(drafts)]
				*d = message.Draft{Conversation: conversations[i%len(conversations)], Sender: 1, Device: 1, ClientSeq: uint64(i + 1), Content: content, Done: done}
				s.Submit(d)
			}
			for range cap(window) {
				window <- struct{}{}
			}
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
			close(none.queue)
			ended.Wait()
			must(b, store.Close())
		})
	}
}
