//go:build cluster

package cassandralog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// BenchmarkAgainstTheDriver is BAR-C2: acknowledged messages a second, with senders that each wait for their previous message in a
// conversation of their own. The reference sends the same number of equally large conditional batches to the driver in bare loops: for
// conversations one loop for each sender, for records one for each partition, without waiting for each other.
func BenchmarkAgainstTheDriver(b *testing.B) {
	const senders = 256
	payload := make([]byte, 200)
	for b.Loop() {
		o := options(0)
		var records atomic.Int64
		o.Listener = func(c []timeline.Commit) { records.Add(int64(len(c))) }
		l := open(b, o)
		send := func(span time.Duration) int64 {
			return loops(senders, span, func(i, n int) error {
				a := &timeline.AppendRequest{Key: conversation(i), Payload: payload, Counts: true, NeedsFanout: true, Author: uint64(i + 1),
					Token: timeline.Token{Sender: uint64(i + 1), Device: 1, Counter: uint64(time.Now().UnixNano())}}
				return timelinetest.Append(l, a).Err
			})
		}
		send(5 * time.Second) // warm up the nodes
		records.Store(0)
		const measured = 10 * time.Second
		acked := send(measured)
		share := float64(records.Load()) / float64(acked)
		driver := bare(b, l, senders, payload, share, acked)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		rate := float64(acked) / measured.Seconds()
		b.ReportMetric(rate, "acked/s")
		b.ReportMetric(driver, "driver/s")
		b.ReportMetric(rate/driver, "share")
		b.ReportMetric(1/share, "acked/record")
		b.ReportMetric(0, "ns/op")
	}
}

// loops runs n concurrent loops for some time, and counts their calls.
func loops(n int, span time.Duration, do func(i, n int) error) int64 {
	var done atomic.Int64
	var wait sync.WaitGroup
	end := time.Now().Add(span)
	for i := range n {
		wait.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				if err := do(i, n); err != nil {
					fmt.Println(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wait.Wait()
	return done.Load()
}

// bare sends batches directly to the driver, and returns their number a second.
func bare(b *testing.B, l *Log, senders int, payload []byte, share float64, batches int64) float64 {
	ctx := context.Background()
	o := options(0)
	l.options.Store = o.Store // use other partitions
	states := make([]state, senders)
	began := time.Now()
	var left, recordsLeft atomic.Int64
	left.Store(batches)
	recordsLeft.Store(int64(share * float64(batches)))
	var wait sync.WaitGroup
	for i := range senders {
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				k, before := conversation(i), states[i]
				after := before
				after.tail.Seq++
				after.tail.Counted++
				after.first = 1
				after.size += uint64(len(payload))
				q := l.batch(ctx)
				l.updateState(q, k, &before, &after)
				token := timeline.Token{Sender: uint64(i + 1), Device: 1, Counter: uint64(time.Now().UnixNano())}
				q.Query(insertEntry, l.segmentArgs(k, 0, int64(after.tail.Seq), int64(after.tail.Seq), int64(before.tail.Seq), int64(newStamp()), payload)...)
				q.Query(insertToken, l.segmentArgs(k, 0, tokenBytes(&token), int64(after.tail.Seq))...)
				q.Query(insertAuthor, l.segmentArgs(k, 0, int64(i+1), int64(after.tail.Seq), int64(after.tail.Seq))...)
				if applied, err := q.apply(); !applied {
					b.Errorf("not applied: %v", err)
					return
				}
				states[i] = after
			}
		})
	}
	refs := (&ref{conversation(1), 0, 1 << 10, newStamp()}).append(nil)
	var blob []byte
	for range int(1 / share) {
		blob = append(blob, refs...)
	}
	for p := range timeline.Partitions {
		wait.Go(func() {
			for seq := int64(1); recordsLeft.Add(-1) >= 0; seq++ {
				q := l.batch(ctx)
				at := []any{o.Store, int16(p), int64(0)}
				if seq == 1 {
					q.Query(beginRecordTail, append([]any{seq}, at...)...)
				} else {
					q.Query(moveRecordTail, append(append([]any{seq}, at...), seq-1)...)
				}
				q.Query(insertRecord, append(at, seq, int64(newStamp()), blob)...)
				if applied, err := q.apply(); !applied {
					b.Errorf("not applied: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
	return float64(batches) / time.Since(began).Seconds()
}
