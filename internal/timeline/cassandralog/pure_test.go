package cassandralog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/timeline"
	"pgregory.net/rapid"
)

func TestRefsComeBack(t *testing.T) {
	golden := []byte{'c', 0x96, 1, 2, 3, 0xac, 2, 'c', 7, 0, 0, 4}
	want := []ref{{timeline.Key{Kind: timeline.Conversation, ID: 150}, 2, 3, 300}, {timeline.Key{Kind: timeline.Conversation, ID: 7}, 0, 0, 4}}
	got, err := decodeRefs(golden)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if b := want[1].append(want[0].append(nil)); !slices.Equal(b, golden) {
		t.Errorf("%x", b)
	}
	for n := range golden {
		if got, err := decodeRefs(golden[:n]); err == nil && len(got) != 0 && n != 7 {
			t.Errorf("%d bytes are %+v", n, got)
		}
	}
}

func TestTokensComeBack(t *testing.T) {
	token := timeline.Token{Sender: 1, Device: 1 << 63, Counter: 300, Sum: [16]byte{9}}
	d, counter, ok := counterOf(tokenBytes(&token))
	if !ok || d != (device{1, 1 << 63}) || counter != 300 {
		t.Errorf("%v %d %v", d, counter, ok)
	}
	token.Counter = 0
	if _, _, ok := counterOf(tokenBytes(&token)); ok {
		t.Error("a sum is taken for a counter")
	}
}

func TestSegmentOfASeq(t *testing.T) {
	for seq, want := range map[uint64]uint64{0: 0, 1: 0, 9: 0, 10: 1, 11: 1, 20: 2, 1 << 40: 2} {
		if got := segmentOf([]uint64{0, 10, 20}, seq); got != want {
			t.Errorf("%d is in segment %d, not in %d", seq, got, want)
		}
	}
}

// TestWhole: what is read of a conversation as it is is whole, and what lacks any entry above the head is not.
func TestWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.Uint64Range(1, 3).Draw(r, "first")
		at := state{version: 1, first: first}
		at.tail.Seq = first - 1 + rapid.Uint64Range(0, 8).Draw(r, "entries")
		at.tail.Head = rapid.Uint64Range(0, at.tail.Seq+1).Draw(r, "head")
		s := span{from: rapid.Uint64Range(0, 12).Draw(r, "from"), to: rapid.Uint64Range(0, 12).Draw(r, "to"), limit: rapid.IntRange(1, 10).Draw(r, "limit"), back: rapid.Bool().Draw(r, "back")}
		var entries []timeline.Entry
		for seq := first; seq <= at.tail.Seq; seq++ {
			if seq >= s.from && seq <= s.to && (seq >= at.tail.Head || rapid.Bool().Draw(r, "kept")) {
				entries = append(entries, timeline.Entry{Seq: seq, Prev: seq - 1})
			}
		}
		if s.back {
			slices.Reverse(entries)
		}
		beyond := entries[min(len(entries), s.limit):]
		entries = entries[:len(entries)-len(beyond)]
		k := timeline.Key{Kind: timeline.Conversation, ID: 1}
		if !whole(k, entries, &at, s) {
			r.Fatalf("%+v of %+v, %+v", entries, at, s)
		}
		if len(entries) == 0 {
			return
		}
		i := rapid.IntRange(0, len(entries)-1).Draw(r, "lost")
		if entries[i].Seq < at.tail.Head {
			return
		}
		lost := slices.Delete(slices.Clone(entries), i, i+1)
		if len(beyond) > 0 { // the limit is filled by the next one
			lost = append(lost, beyond[0])
		}
		if whole(k, lost, &at, s) {
			r.Fatalf("without the one at %d: %+v of %+v, %+v", i, lost, at, s)
		}
	})
}

// TestWhatWasGivenUpIsNotTold: a batch that timed out, and was not there when its log looked, may still be stored, by a node of the store
// that had it and was held. Its record is told of as if it had no entries only where that cannot be.
func TestWhatWasGivenUpIsNotTold(t *testing.T) {
	var told []uint64
	l := &Log{options: Options{Listener: func(commits []timeline.Commit) { told = append(told, commits[0].Record) }}}
	r := newRecorder(l, 0)
	for i, end := range []struct {
		used    bool
		attempt *attempt
		err     error
	}{
		{used: true},
		{attempt: &attempt{}, err: errors.New("nobody knows")},
		{err: errors.New("it was looked for")},
		{used: true, err: errors.New("a part was stored")},
		{used: true},
	} {
		f := &forming{log: l, used: end.used, attempt: end.attempt, claim: newClaim(r, ref{}, 1)}
		r.done(uint64(i+1), []*claim{f.claim})
		f.end(context.Background(), end.err)
	}
	if got := fmt.Sprint(told); got != "[1 5]" {
		t.Error(got)
	}
}

// TestNoAppendWaitsWithoutABound: while the store is away each batch takes a worker for as long as the log has patience. With many more
// conversations than workers all are answered all the same, in order, and as soon as it is back all that comes is stored.
func TestNoAppendWaitsWithoutABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, away := &Log{options: Options{Workers: 2, Patience: 15 * time.Second, Queue: 1000, QueueBytes: 1000}}, true
		l.lines.begin(l)
		l.lines.commit = func(_ timeline.Key, batch []*timeline.Append, until time.Time) {
			if away {
				time.Sleep(time.Until(until))
			}
			for _, a := range batch {
				if a.Seq = 1; away {
					a.Err = errStore(nil)
				}
				a.Done(a)
			}
		}
		began, answered, last := time.Now(), make(chan *timeline.Append, 1000), map[timeline.Key]int{}
		send := func() {
			for n := 1; n <= 3; n++ {
				for id := range uint64(100) {
					l.Append(&timeline.Append{Key: timeline.Key{Kind: timeline.Conversation, ID: id}, Payload: []byte{0}, Context: n, Done: func(a *timeline.Append) { answered <- a }})
				}
			}
		}
		wait := func(stored bool) {
			t.Helper()
			clear(last)
			for range 300 {
				a := <-answered
				if n := a.Context.(int); n != last[a.Key]+1 {
					t.Errorf("%v: %d after %d", a.Key, n, last[a.Key])
				}
				last[a.Key]++
				if stored != (a.Err == nil) {
					t.Errorf("%+v", a)
				}
			}
		}
		send()
		wait(false)
		if d := time.Since(began); d > 2*l.options.Patience {
			t.Errorf("they waited %v", d)
		}
		synctest.Wait()
		away = false
		send()
		wait(true)
		l.lines.close()
		if l.waiting != 0 || l.size != 0 || len(l.lines.lines) != 0 {
			t.Errorf("%d wait, of %d bytes, in %d lines", l.waiting, l.size, len(l.lines.lines))
		}
	})
}

// TestTheCacheIsBounded: many devices in many conversations leave no more in it than it may have, and what is in it is right.
func TestTheCacheIsBounded(t *testing.T) {
	const most = 64
	c := newCache(most)
	for id := range uint64(100) {
		k := timeline.Key{Kind: timeline.Conversation, ID: id}
		for n := range uint64(10) {
			d := device{id, n}
			c.setState(k, state{version: n + 1})
			c.setCounter(d, n)
			c.setPast(k, n, d, 10*id+n)
			if highest, ok := c.past(k, n, d); !ok || highest != 10*id+n || c.counter(d) != n || c.state(k).version != n+1 {
				t.Fatalf("%d in conversation %d: %d %v", n, id, highest, ok)
			}
			if _, ok := c.past(k, n+1, d); ok {
				t.Fatal("it tells of a segment that nobody looked into")
			}
			if len(c.pasts) > most || len(c.counters) > most || len(c.known) > most {
				t.Fatalf("%d, %d and %d", len(c.pasts), len(c.counters), len(c.known))
			}
		}
	}
	if len(c.pasts) < most/2 {
		t.Errorf("%d are kept", len(c.pasts))
	}
}
