package cassandralog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

func TestRefsRoundTrip(t *testing.T) {
	golden := []byte{'c', 0x96, 1, 2, 3, 0xac, 2, 'c', 7, 0, 0, 4}
	want := []ref{{timeline.Key{Kind: timeline.Conversation, ID: 150}, 2, 3, 300}, {timeline.Key{Kind: timeline.Conversation, ID: 7}, 0, 0, 4}}
	got, err := decodeRefs(golden)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("decode references: got %+v, %v", got, err)
	}
	if b := want[1].append(want[0].append(nil)); !slices.Equal(b, golden) {
		t.Errorf("encode references: got %x", b)
	}
	for n := range golden {
		if got, err := decodeRefs(golden[:n]); err == nil && len(got) != 0 && n != 7 {
			t.Errorf("decode %d bytes: got %+v, want an error", n, got)
		}
	}
}

func TestTokensRoundTrip(t *testing.T) {
	token := timeline.Token{Sender: 1, Device: 1 << 63, Counter: 300, Sum: [16]byte{9}}
	d, counter, ok := counterOf(tokenBytes(&token))
	if !ok || d != (device{1, 1 << 63}) || counter != 300 {
		t.Errorf("decode a counter: got %v %d %v", d, counter, ok)
	}
	token.Counter = 0
	if _, _, ok := counterOf(tokenBytes(&token)); ok {
		t.Error("a hash token was decoded as a counter")
	}
}

func TestSegmentOfASeq(t *testing.T) {
	for seq, want := range map[uint64]uint64{0: 0, 1: 0, 9: 0, 10: 1, 11: 1, 20: 2, 1 << 40: 2} {
		if got := segmentOf([]uint64{0, 10, 20}, seq); got != want {
			t.Errorf("segment of seq %d: got %d, want %d", seq, got, want)
		}
	}
}

// TestIncompleteSpansAreDetected: a complete span of a conversation is accepted, and one that lacks an entry above the head is not.
func TestIncompleteSpansAreDetected(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.Uint64Range(1, 3).Draw(r, "first")
		at := state{version: 1, first: first}
		at.tail.Seq = first - 1 + rapid.Uint64Range(0, 8).Draw(r, "entries")
		at.tail.FirstSeq = rapid.Uint64Range(0, at.tail.Seq+1).Draw(r, "head")
		s := span{from: rapid.Uint64Range(0, 12).Draw(r, "from"), to: rapid.Uint64Range(0, 12).Draw(r, "to"), limit: rapid.IntRange(1, 10).Draw(r, "limit"), back: rapid.Bool().Draw(r, "back")}
		var entries []timeline.Entry
		for seq := first; seq <= at.tail.Seq; seq++ {
			if seq >= s.from && seq <= s.to && (seq >= at.tail.FirstSeq || rapid.Bool().Draw(r, "kept")) {
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
		if entries[i].Seq < at.tail.FirstSeq {
			return
		}
		lost := slices.Delete(slices.Clone(entries), i, i+1)
		if len(beyond) > 0 { // the next entry fills the limit
			lost = append(lost, beyond[0])
		}
		if whole(k, lost, &at, s) {
			r.Fatalf("without the entry at %d: got %+v complete in %+v, %+v", i, lost, at, s)
		}
	})
}

// A batch that timed out, and that its log could not find, may still be stored by a suspended Cassandra node. Its record is reported to
// the listener without entries only if that is impossible.
func TestRecordsOfUnresolvedBatchesAreNotAnnounced(t *testing.T) {
	var told []uint64
	l := &Log{options: Options{Listener: func(commits []timeline.Commit) { told = append(told, commits[0].RecordSeq) }}}
	r := newRecordWriter(l, 0)
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
		f := &batchBuilder{log: l, stampUsed: end.used, attempt: end.attempt, intent: newIntent(r, ref{}, 1)}
		r.stored(uint64(i+1), []*intent{f.intent})
		f.finishIntent(context.Background(), end.err)
	}
	if got := fmt.Sprint(told); got != "[1 5]" {
		t.Errorf("got %q, want %q", got, "[1 5]")
	}
}

// While the store is unavailable, each batch occupies a worker until the timeout. Even with many more conversations than workers, all
// appends are answered in order, and new ones are stored as soon as the store is back.
func TestAppendsAreAnsweredWhileTheStoreIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, away := &Log{options: Options{Workers: 2, Timeout: 15 * time.Second, Queue: 1000, QueueBytes: 1000}}, true
		l.keyedQueues.start(l)
		l.keyedQueues.commit = func(_ timeline.Key, batch []*timeline.AppendRequest, until time.Time) {
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
		began, answered, last := time.Now(), make(chan *timeline.AppendRequest, 1000), map[timeline.Key]int{}
		send := func() {
			for n := 1; n <= 3; n++ {
				for id := range uint64(100) {
					l.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: id}, Payload: []byte{0}, UserData: n, Done: func(a *timeline.AppendRequest) { answered <- a }})
				}
			}
		}
		wait := func(stored bool) {
			t.Helper()
			clear(last)
			for range 300 {
				a := <-answered
				if n := a.UserData.(int); n != last[a.Key]+1 {
					t.Errorf("conversation %v: got append %d answered after %d", a.Key, n, last[a.Key])
				}
				last[a.Key]++
				if stored != (a.Err == nil) {
					t.Errorf("got append %+v, want an error", a)
				}
			}
		}
		send()
		wait(false)
		if d := time.Since(began); d > 2*l.options.Timeout {
			t.Errorf("appends waited %v", d)
		}
		synctest.Wait()
		away = false
		send()
		wait(true)
		l.keyedQueues.close()
		if l.waiting != 0 || l.size != 0 || len(l.keyedQueues.queues) != 0 {
			t.Errorf("after all answers: got %d waiting appends, %d bytes, %d queues", l.waiting, l.size, len(l.keyedQueues.queues))
		}
	})
}

// A log that is opened while the nodes of a new cluster find one another waits for them, but not for ever, and not after other errors.
func TestOpeningWaitsForAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unavailable := fmt.Errorf("insert: %w", &gocql.RequestErrUnavailable{})
		other := errors.New("other")
		stopped, stop := context.WithCancel(t.Context())
		stop()
		for _, c := range []struct {
			name   string
			ctx    context.Context
			errs   []error // of each attempt; the last one repeats
			want   error
			wanted int
		}{
			{"at the third attempt", t.Context(), []error{unavailable, unavailable, nil}, nil, 3},
			{"never", t.Context(), []error{unavailable}, unavailable, quorumTries},
			{"another error", t.Context(), []error{unavailable, other}, other, 2},
			{"the context ended", stopped, []error{unavailable}, unavailable, 1},
		} {
			attempts := 0
			err := awaitQuorum(c.ctx, func(context.Context) error {
				attempts++
				return c.errs[min(attempts, len(c.errs))-1]
			})
			if err != c.want || attempts != c.wanted {
				t.Errorf("%s: got %v after %d attempts, want %v after %d", c.name, err, attempts, c.want, c.wanted)
			}
		}
	})
}

// Many devices in many conversations do not exceed the cache's limits, and its content is correct.
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
				t.Fatalf("counter %d in conversation %d: got %d %v", n, id, highest, ok)
			}
			if _, ok := c.past(k, n+1, d); ok {
				t.Fatal("the cache returned an unknown segment")
			}
			if len(c.pasts) > most || len(c.counters) > most || len(c.keys) > most {
				t.Fatalf("the cache has %d, %d and %d elements, more than its limit", len(c.pasts), len(c.counters), len(c.keys))
			}
		}
	}
	if len(c.pasts) < most/2 {
		t.Errorf("the cache has %d elements", len(c.pasts))
	}
}
