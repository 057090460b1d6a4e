package pglog_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// load of a failover test: what was appended and posted, and what of it was acknowledged.
type load struct {
	t       *testing.T
	nodes   []*pglog.Log
	clock   atomic.Int64 // orders the beginnings and ends of calls
	acks    chan struct{}
	stop    chan struct{}
	working sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	acked  []acked
	seen   map[uint64]map[uint64]string // by conversation and seq
	posted map[string]uint64
}

// acked is an acknowledged append, with the times of its begin and end.
type acked struct {
	conversation, seq uint64
	text              string
	begun, ended      int64
}

const talks = 4

// append retries on either node until the entry is acknowledged, and then once more.
func (l *load) append(w uint64) {
	for i := uint64(1); ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		k, text, begun := conversation(i%talks+1), fmt.Sprintf("%d/%d", w, i), l.clock.Add(1)
		var a *timeline.AppendRequest
		for try := uint64(0); ; try++ {
			a = timelinetest.Append(l.nodes[(w+try)%2], &timeline.AppendRequest{Key: k, Payload: []byte(text), Token: token(w, i), NeedsFanout: true, Counts: true, Author: w})
			if a.Err == nil {
				break
			}
			if !errs.Is(a.Err, errs.Unavailable) {
				l.t.Errorf("%s: error %v, want one of the kind unavailable", text, a.Err)
				return
			}
		}
		ended := l.clock.Add(1)
		again := timelinetest.Append(l.nodes[w%2], &timeline.AppendRequest{Key: k, Payload: []byte(text), Token: token(w, i), NeedsFanout: true, Counts: true, Author: w})
		if again.Err == nil && (!again.Duplicate || again.Seq != a.Seq || string(again.StoredPayload) != text) {
			l.t.Errorf("%s is at %d, but the retry got %+v", text, a.Seq, again)
		}
		l.mu.Lock()
		l.acked = append(l.acked, acked{k.ID, a.Seq, text, begun, ended})
		l.mu.Unlock()
		select {
		case l.acks <- struct{}{}:
		default:
		}
	}
}

// post uses one term throughout: a promoted standby has it too.
func (l *load) post(n int) {
	k := inbox(uint64(n + 1))
	for i := 1; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		text := fmt.Sprintf("%d/%d", n, i)
		posts := []timeline.Post{{Key: k, Payload: []byte(text)}}
		err := l.nodes[n].Post(context.Background(), posts)
		for errs.Is(err, errs.Unavailable) {
			err = l.nodes[n].Post(context.Background(), posts)
		}
		if err != nil {
			l.t.Errorf("post %s: %v", text, err)
			return
		}
		l.mu.Lock()
		l.posted[text] = posts[0].Seq
		l.mu.Unlock()
	}
}

// follow reads a growing timeline. A text that was seen at a position must never change.
func (l *load) follow(n int) {
	var at [talks + 1]uint64
	for last := false; ; {
		for k := uint64(1); k <= talks; k++ {
			entries, err := l.nodes[n].Read(context.Background(), conversation(k), at[k], 1000)
			if errs.Is(err, errs.Unavailable) {
				continue
			}
			check(l.t, err)
			l.mu.Lock()
			for _, e := range entries {
				if before, ok := l.seen[k][e.Seq]; ok && before != string(e.Payload) || e.Seq != at[k]+1 {
					l.t.Errorf("node %d sees %q at %d of %d, where %q was seen before, after %d", n, e.Payload, e.Seq, k, before, at[k])
				}
				l.seen[k][e.Seq], at[k] = string(e.Payload), e.Seq
			}
			l.mu.Unlock()
		}
		if last {
			return
		}
		select {
		case <-l.stop:
			last = true
		default:
		}
	}
}

// await waits for some acknowledgements.
func (l *load) await() {
	for range 40 {
		<-l.acks
	}
}

// verify compares the stored entries with the acknowledged and the visible ones.
func (l *load) verify() {
	t, stored, places := l.t, map[string]bool{}, map[uint64][]string{}
	for k := uint64(1); k <= talks; k++ {
		places[k] = read(t, l.nodes[0], conversation(k)) // without a gap
		for i, text := range places[k] {
			if stored[text] {
				t.Errorf("%s is stored twice", text)
			}
			stored[text] = true
			if seen, ok := l.seen[k][uint64(i+1)]; ok && seen != text {
				t.Errorf("%q is at %d of %d, where %q was seen before", text, i+1, k, seen)
			}
		}
	}
	latest := map[uint64]map[uint64]acked{} // by seq
	for _, a := range l.acked {
		if int(a.seq) > len(places[a.conversation]) || places[a.conversation][a.seq-1] != a.text {
			t.Fatalf("%s was acknowledged at %d of %d, but is missing", a.text, a.seq, a.conversation)
		}
		if latest[a.conversation] == nil {
			latest[a.conversation] = map[uint64]acked{}
		}
		latest[a.conversation][a.seq] = a
	}
	for _, line := range latest { // an append that ended before another began has a lower seq
		var begun int64
		for seq := uint64(1); seq <= uint64(len(l.acked)); seq++ {
			a, ok := line[seq]
			if !ok {
				continue
			}
			if a.ended < begun {
				t.Errorf("%s, at %d, was acknowledged before an append with a lower seq began", a.text, a.seq)
			}
			begun = max(begun, a.begun)
		}
	}
	l.verifyFanout(len(stored))
}

// verifyFanout checks that records name each entry once, and that acknowledged posts are stored.
func (l *load) verifyFanout(entries int) {
	t, ctx, named := l.t, context.Background(), 0
	for p := range uint16(timeline.Partitions) {
		records, err := l.nodes[1].FanoutRecords(ctx, p, 0, 1<<20)
		must(t, err)
		for i, r := range records {
			if r.Seq != uint64(i+1) {
				t.Fatalf("partition %d: record %d is at %d", p, r.Seq, i)
			}
			for _, ref := range r.Refs {
				named += int(ref.To - ref.From + 1)
			}
		}
	}
	if named != entries {
		t.Errorf("records name %d entries of %d", named, entries)
	}
	at := map[string]map[uint64]bool{}
	for n := range l.nodes {
		all, err := l.nodes[1-n].Read(ctx, inbox(uint64(n+1)), 0, 1<<20)
		must(t, err)
		before := uint64(0)
		for _, e := range all {
			if e.Prev != before {
				t.Errorf("inbox %d: entry %d follows %d, but names %d", n+1, e.Seq, before, e.Prev)
			}
			if before = e.Seq; at[string(e.Payload)] == nil {
				at[string(e.Payload)] = map[uint64]bool{}
			}
			at[string(e.Payload)][e.Seq] = true
		}
	}
	for text, seq := range l.posted {
		if !at[text][seq] {
			t.Errorf("post %s was acknowledged at %d, but is missing", text, seq)
		}
	}
}

// TestFailover: the primary is killed or paused under load, and the standby is promoted. The former primary still considers itself the
// primary for a while.
func TestFailover(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	options := pglog.Options{Timeout: 4 * time.Second, PrimaryCheckInterval: 100 * time.Millisecond}
	l := &load{t: t, nodes: []*pglog.Log{open(t, p.URL, options), open(t, p.URL, options)}, acks: make(chan struct{}, 1), stop: make(chan struct{}),
		seen: map[uint64]map[uint64]string{}, posted: map[string]uint64{}}
	for k := range uint64(talks) {
		l.seen[k+1] = map[uint64]string{}
	}
	for n, node := range l.nodes {
		acquire := func() error { return node.Acquire(t.Context(), inbox(uint64(n+1)).Partition(), 1) }
		for err := acquire(); err != nil; err = acquire() { // a slow machine may need several times the timeout
			if !errs.Is(err, errs.Unavailable) {
				t.Fatalf("error %v, want one of the kind unavailable", err)
			}
		}
		l.working.Go(func() { l.post(n) })
		l.working.Go(func() { l.follow(n) })
	}
	if inbox(1).Partition() == inbox(2).Partition() {
		t.Fatal("the nodes need partitions of their own")
	}
	for w := range uint64(6) {
		l.working.Go(func() { l.append(w) })
	}
	l.await()
	rounds := 3
	if n := scaled(t); n > 1 {
		rounds = 6 * n
	}
	for round := range rounds {
		if round%3 == 1 {
			must(t, p.Primary().Pause())
		} else {
			must(t, p.Primary().Kill())
		}
		must(t, p.Promote(t.Context()))
		l.await() // by the other
		switch round % 3 {
		case 0:
			must(t, p.Standby().Restart(t.Context()))
			l.await()
		case 1:
			must(t, p.Standby().Resume())
			l.await()
		}
		must(t, p.Rejoin(t.Context()))
		l.await()
	}
	close(l.stop)
	l.working.Wait()
	l.verify()
	t.Logf("%d appends and %d posts were acknowledged", len(l.acked), len(l.posted))
	for _, node := range l.nodes {
		must(t, node.Close())
	}
}

// TestAStartingNodeUsesNoFormerPrimary: a starting node does not use a former primary that is named first and accepts connections, because
// the other server was promoted since.
func TestAStartingNodeUsesNoFormerPrimary(t *testing.T) {
	t.Parallel()
	for name, synchronous := range map[string]bool{"its commits wait": true, "its commits wait for nobody": false} {
		t.Run(name, func(t *testing.T) {
			p := sqltest.PairOf(t, sqltest.PairOptions{})
			ctx := t.Context()
			l := open(t, p.URL, pglog.Options{})
			must(t, p.Synchronous(ctx, synchronous))
			must(t, p.Primary().Kill())
			must(t, p.Promote(ctx))
			if a := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("new"), Token: token(1, 1)}); a.Err != nil {
				t.Fatal(a.Err)
			}
			must(t, l.Close())
			must(t, p.Standby().Restart(ctx))
			l = open(t, p.URL, pglog.Options{PrimaryCheckInterval: time.Hour})
			if texts := read(t, l, conversation(1)); len(texts) != 1 {
				t.Errorf("the node reads from the former primary: %q", texts)
			}
			must(t, l.Close())
			if !synchronous {
				return
			}
			if _, err := pglog.Open(ctx, p.Standby().URL, pglog.Options{}); err == nil || !strings.Contains(err.Error(), "its standby does not confirm commits") {
				t.Errorf("a former primary alone was accepted: %v", err)
			}
		})
	}
}
