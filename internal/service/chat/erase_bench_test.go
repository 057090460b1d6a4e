package chat_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// BenchmarkErase erases a user with 100,000 messages in 100 conversations, on Pebble, while another user sends one message after the other. It reports the
// longest wait of these.
func BenchmarkErase(b *testing.B) {
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		h := newHarness(b, chat.Config{})
		store, err := pebblelog.Open(b.TempDir(), pebblelog.Options{})
		must(b, err)
		h.log = store
		s := h.node(b)
		const conversations, each = 100, 1000
		n := uint64(0)
		for i := range conversations {
			c, err := s.OpenDirect(ctx, 1, id.User(i+2))
			must(b, err)
			var sent sync.WaitGroup
			for range each {
				n++
				d := draftOf(c, 1, n, "a text of some words, as people write them to each other")
				sent.Add(1)
				d.Done = func(*message.Draft) { sent.Done() }
				s.Submit(d)
			}
			sent.Wait()
			must(b, s.Send(ctx, draftOf(c, id.User(i+2), 1, "an answer")))
		}
		other, err := s.OpenDirect(ctx, 500, 501)
		must(b, err)
		stop, stopped := make(chan struct{}), make(chan time.Duration)
		go func() {
			longest := time.Duration(0)
			for k := uint64(1); ; k++ {
				select {
				case <-stop:
					stopped <- longest
					return
				default:
				}
				began := time.Now()
				if err := s.Send(ctx, draftOf(other, 500, k, "meanwhile")); err != nil {
					b.Error(err)
				}
				longest = max(longest, time.Since(began))
			}
		}()
		b.StartTimer()
		p := s.UserData()
		erased := int64(0)
		for at := ""; ; {
			step, err := p.EraseUser(ctx, 1, at)
			must(b, err)
			if erased += step.Erased; step.Done {
				break
			}
			at = step.Next
		}
		b.StopTimer()
		close(stop)
		b.ReportMetric(float64((<-stopped).Milliseconds()), "ms-longest-send")
		if erased != conversations*each {
			b.Errorf("%d messages were erased", erased)
		}
		must(b, store.Close())
		b.StartTimer()
	}
}
