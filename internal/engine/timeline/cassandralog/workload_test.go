//go:build cluster

package cassandralog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func conversation(id int) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(id + 1)}
}

// workload has writers that append to a few conversations through several logs and retry until they are answered, sometimes sending a
// message twice; and readers that follow.
type workload struct {
	t    *testing.T
	logs []*Log
	keys int

	mu    sync.Mutex
	acked map[string]timeline.Entry // by payload, with the conversation
	count atomic.Int64              // number of acknowledged messages
	fails atomic.Int64              // number of answers with an error
}

// write runs writers that append a number of messages each; at is called after each acknowledgement with their number.
func (w *workload) write(writers, each int, at func(acked int64)) {
	w.acked = map[string]timeline.Entry{}
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var writing, reading sync.WaitGroup
	for i := range w.keys {
		reading.Go(func() { w.follow(ctx, w.logs[i%len(w.logs)], conversation(i)) })
	}
	for writer := range writers {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(writer)))
			for n := range each {
				w.send(r, writer, n)
				at(w.count.Add(1))
			}
		})
	}
	writing.Wait()
	cancel()
	reading.Wait()
}

// neverAnswered is how long a message may be refused before the test fails. Nodes of the cluster restart in much less.
const neverAnswered = 3 * time.Minute

func (w *workload) send(r *rand.Rand, writer, n int) {
	k, text := conversation(r.IntN(w.keys)), fmt.Sprintf("%d/%d", writer, n)
	again := r.IntN(5) == 0
	for end := time.Now().Add(neverAnswered); ; {
		a := &timeline.AppendRequest{Key: k, Payload: []byte(text), NeedsFanout: true, Counts: true, Author: uint64(writer + 1),
			Token: timeline.Token{Sender: uint64(writer + 1), Device: 1, Counter: uint64(n + 1)}}
		if timelinetest.Append(w.logs[r.IntN(len(w.logs))], a); a.Err != nil {
			w.fails.Add(1)
			if time.Now().After(end) {
				w.t.Errorf("within %v, message %s was not stored: %v", neverAnswered, text, a.Err)
				return
			}
			continue
		}
		if a.Duplicate && string(a.StoredPayload) != text {
			w.t.Errorf("message %s: got payload %q", text, a.StoredPayload)
		}
		w.mu.Lock()
		at := fmt.Sprintf("%d %s", k.ID, text)
		if before, ok := w.acked[at]; ok && before.Seq != a.Seq {
			w.t.Errorf("message %s was acknowledged at seq %d and at seq %d", at, before.Seq, a.Seq)
		}
		w.acked[at] = timeline.Entry{Seq: a.Seq, Counted: a.Counted}
		w.mu.Unlock()
		if !again {
			return
		}
		again = false
	}
}

// follow reads a conversation as it grows: without gaps, and up to each tail that it has seen.
func (w *workload) follow(ctx context.Context, l *Log, k timeline.Key) {
	at := uint64(0)
	for ctx.Err() == nil {
		tail, err := l.Tail(ctx, k)
		if err != nil {
			continue // the store may be unavailable for a moment
		}
		entries, err := l.Read(ctx, k, at, 10)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Seq != at+1 {
				w.t.Errorf("conversation %d: got seq %d after %d", k.ID, e.Seq, at)
				return // report it only once
			}
			at = e.Seq
		}
		if len(entries) < 10 && at < tail.Seq {
			w.t.Errorf("conversation %d: the tail was %d, got entries up to %d", k.ID, tail.Seq, at)
			return
		}
	}
}

// check reads everything: without gaps or duplicates, acknowledged messages at their seqs, and each entry in one record, in order.
func (w *workload) check() {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	for i, l := range w.logs {
		found := 0
		for key := range w.keys {
			k := conversation(key)
			entries, err := l.Read(ctx, k, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for n, e := range entries {
				at := fmt.Sprintf("%d %s", k.ID, e.Payload)
				if e.Seq != uint64(n+1) || e.Counted != e.Seq {
					t.Fatalf("log %d: seq %d of conversation %d: got %+v", i, n+1, k.ID, e)
				}
				if acked, ok := w.acked[at]; !ok || acked.Seq != e.Seq {
					t.Errorf("log %d: message %s: got seq %d, want %d", i, at, e.Seq, acked.Seq)
				}
			}
			found += len(entries)
		}
		if found != len(w.acked) {
			t.Errorf("log %d: got %d entries, acknowledged %d", i, found, len(w.acked))
		}
	}
	named, last := map[timeline.Ref]int{}, map[timeline.Key]uint64{}
	for p := range uint16(timeline.Partitions) {
		at := uint64(0)
		for {
			records, err := timeline.AwaitFanoutRecords(ctx, w.logs[0], p, at, 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) == 0 {
				break
			}
			for _, r := range records {
				if r.Seq != at+1 {
					t.Errorf("partition %d: got record %d after %d", p, r.Seq, at)
				}
				at = r.Seq
				for _, f := range r.Refs {
					if f.From <= last[f.Key] {
						t.Errorf("record %d of partition %d: got seqs %d to %d of conversation %d, after seq %d in an earlier record", r.Seq, p, f.From, f.To, f.Key.ID, last[f.Key])
					}
					last[f.Key] = f.To
					for seq := f.From; seq <= f.To; seq++ {
						named[timeline.Ref{Key: f.Key, From: seq}]++
					}
				}
			}
		}
	}
	if len(named) != len(w.acked) {
		t.Errorf("got %d entries in records, want %d", len(named), len(w.acked))
	}
	for r, n := range named {
		if n != 1 {
			t.Errorf("entry %+v: got %d records, want 1", r, n)
		}
	}
}

// several opens n logs on one store.
func several(t *testing.T, n int, o Options) []*Log {
	t.Helper()
	logs := make([]*Log, n)
	for i := range logs {
		logs[i] = open(t, o)
		t.Cleanup(func() {
			if err := logs[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return logs
}

func TestManyLogsOnOneStore(t *testing.T) {
	o := options(0)
	o.SegmentEntries = 30
	w := &workload{t: t, logs: several(t, 3, o), keys: 3}
	w.write(9, 40, func(int64) {})
	w.check()
	if n := w.fails.Load(); n != 0 {
		t.Errorf("%d appends failed", n)
	}
}

// Under load one node is killed, another is paused, and the third is killed: at QUORUM of three no acknowledged message is lost or
// duplicated, and appends continue.
func TestANodeIsKilled(t *testing.T) {
	if nodes() < 3 {
		t.Fatal("this test needs three nodes")
	}
	o := options(0)
	o.SegmentEntries = 60
	w := &workload{t: t, logs: several(t, 2, o), keys: 8}
	next := make(chan struct{}, 6) // one value for each 120 messages
	var faults sync.WaitGroup
	faults.Go(func() {
		for _, do := range []func() error{
			func() error { return cluster.Kill(2) },
			func() error { return cluster.Restart(context.Background(), 2) },
			func() error { return cluster.Pause(1) },
			func() error { return cluster.Resume(1) },
			func() error { return cluster.Kill(0) },
			func() error { return cluster.Restart(context.Background(), 0) },
		} {
			<-next
			if err := do(); err != nil {
				t.Error(err)
			}
		}
	})
	w.write(16, 50, func(acked int64) {
		if acked%120 == 0 && acked <= 720 {
			next <- struct{}{}
		}
	})
	faults.Wait()
	w.check()
	t.Logf("%d acknowledged, %d attempts failed", len(w.acked), w.fails.Load())
}
