package pebblelog_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
)

// BenchmarkAppend measures the processor time of appends, without a disk. Each sender waits for its append before it sends the next one.
// Use a number of appends: -benchtime 20000x.
func BenchmarkAppend(b *testing.B) {
	for _, senders := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) { benchmarkAppend(b, senders) })
	}
}

func benchmarkAppend(b *testing.B, senders int) {
	l, err := pebblelog.Open("log", pebblelog.Options{FS: vfs.NewMem(), Free: func() (uint64, error) { return 1 << 40, nil }})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			done := make(chan struct{}, 1)
			a := &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(s + 1)}, Author: uint64(s + 1),
				Counts: true, NeedsFanout: true, Done: func(*timeline.AppendRequest) { done <- struct{}{} }}
			for i := s; i < b.N; i += senders {
				a.Payload = make([]byte, 200)
				a.Token = timeline.Token{Sender: uint64(s + 1), Device: 1, Counter: uint64(i + 1)}
				l.Append(a)
				<-done
				if a.Err != nil {
					b.Error(a.Err)
					return
				}
			}
		})
	}
	wg.Wait()
}
