// Package timelinetest is the suite that every timeline.Log passes: each guarantee of the port, and random operations compared with the
// in-memory model.
package timelinetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"pgregory.net/rapid"
)

// Open opens an empty log. The suite closes it.
type Open func(t testing.TB, listener timeline.Listener) timeline.Log

// Run checks the guarantees of a log.
func Run(t *testing.T, fresh Open) {
	open := func(t testing.TB, listener timeline.Listener) timeline.Log {
		l := fresh(t, listener)
		for p := range uint16(timeline.Partitions) {
			must(t, l.Acquire(context.Background(), p, 1))
		}
		return l
	}
	t.Run("order without a gap from many goroutines", func(t *testing.T) { testOrder(t, open) })
	t.Run("a retry is harmless", func(t *testing.T) { testTokens(t, open) })
	t.Run("a retry is harmless after many other appends", func(t *testing.T) { testOldTokens(t, open) })
	t.Run("the latest entry of an author is known", func(t *testing.T) { testAuthors(t, open) })
	t.Run("append is conditional on the access version", func(t *testing.T) { testAccess(t, open) })
	t.Run("records name every entry that needs fan-out", func(t *testing.T) { testRecords(t, open) })
	t.Run("many tails equal single tails", func(t *testing.T) { testTails(t, open) })
	t.Run("the term of a partition does not fall", func(t *testing.T) { testTerms(t, open) })
	t.Run("posts chain", func(t *testing.T) { testPosts(t, open) })
	t.Run("only expired entries are removed", func(t *testing.T) { testExpire(t, open) })
	t.Run("payloads are replaced in their places", func(t *testing.T) { testReplace(t, open) })
	t.Run("kinds with the same id are different timelines", func(t *testing.T) { testKinds(t, open) })
	t.Run("a closed log refuses", func(t *testing.T) {
		l := open(t, nil)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if a := Append(l, &timeline.AppendRequest{Key: conversation(1)}); a.Err != timeline.ErrClosed {
			t.Errorf("got %v", a.Err)
		}
	})
	t.Run("random operations match the model", func(t *testing.T) { rapid.Check(t, func(r *rapid.T) { testModel(t, r, open) }) })
}

func conversation(id uint64) timeline.Key { return timeline.Key{Kind: timeline.Conversation, ID: id} }
func inbox(id uint64) timeline.Key        { return timeline.Key{Kind: timeline.Inbox, ID: id} }
func feed(id uint64) timeline.Key         { return timeline.Key{Kind: timeline.Feed, ID: id} }

// Append appends and waits.
func Append(l timeline.Log, a *timeline.AppendRequest) *timeline.AppendRequest {
	done := make(chan struct{})
	a.Done = func(*timeline.AppendRequest) { close(done) }
	l.Append(a)
	<-done
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testOrder(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	const writers, each, keys = 8, 100, 3
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			last := map[timeline.Key]uint64{}
			for i := range each {
				k := conversation(uint64(i % keys))
				a := Append(l, &timeline.AppendRequest{Key: k, Payload: fmt.Appendf(nil, "%d/%d", w, i), Counts: i%2 == 0})
				if a.Err != nil || a.Seq <= last[k] {
					t.Errorf("seq %d after %d, %v", a.Seq, last[k], a.Err)
				}
				last[k] = a.Seq
			}
		})
	}
	wait.Wait()
	ctx, total := context.Background(), 0
	for k := range uint64(keys) {
		entries, err := l.Read(ctx, conversation(k), 0, writers*each)
		must(t, err)
		counted := uint64(0)
		for i, e := range entries {
			if e.Seq != uint64(i+1) || e.Prev != uint64(i) || e.Counted < counted || e.Counted > counted+1 {
				t.Fatalf("entry %d is %+v", i, e)
			}
			counted = e.Counted
		}
		tail, err := l.Tail(ctx, conversation(k))
		must(t, err)
		if tail.Seq != uint64(len(entries)) || tail.Counted != counted {
			t.Errorf("tail %+v for %d entries", tail, len(entries))
		}
		total += len(entries)
	}
	if total != writers*each {
		t.Errorf("%d entries of %d", total, writers*each)
	}
}

func testTokens(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	counter := func(n uint64) timeline.Token { return timeline.Token{Sender: 7, Device: 8, Counter: n} }
	sum := timeline.Token{Sender: 7, Device: 8, Sum: [16]byte{1}}
	for _, token := range []timeline.Token{counter(1), counter(5), counter(3), sum} {
		first := Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("first"), Token: token, Counts: true})
		again := Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("again"), Token: token, Counts: true})
		if first.Err != nil || first.Duplicate || again.Err != nil || !again.Duplicate || again.Seq != first.Seq || again.Counted != first.Counted || string(again.StoredPayload) != "first" {
			t.Fatalf("%+v: %+v then %+v", token, first, again)
		}
		other := Append(l, &timeline.AppendRequest{Key: conversation(2), Payload: []byte("other"), Token: token})
		if other.Err != nil || other.Duplicate {
			t.Fatalf("%+v in another key: %+v", token, other)
		}
	}
	// In one call, and so perhaps in one batch.
	var wait sync.WaitGroup
	appends := make([]*timeline.AppendRequest, 10)
	for i := range appends {
		wait.Add(1)
		appends[i] = &timeline.AppendRequest{Key: conversation(1), Payload: []byte("same"), Token: counter(100 + uint64(i/5)), Done: func(*timeline.AppendRequest) { wait.Done() }}
	}
	l.Append(appends...)
	wait.Wait()
	for i, a := range appends {
		if a.Err != nil || a.Seq != appends[i/5*5].Seq || a.Duplicate != (i%5 != 0) {
			t.Errorf("append %d: %+v", i, a)
		}
	}
	if n, err := l.HighestCounter(context.Background(), 7, 8); err != nil || n != 101 {
		t.Errorf("highest counter %d, %v", n, err)
	}
	if n, err := l.HighestCounter(context.Background(), 7, 9); err != nil || n != 0 {
		t.Errorf("highest counter of a device without messages %d, %v", n, err)
	}
}

func testAccess(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	k := conversation(1)
	if a := Append(l, &timeline.AppendRequest{Key: k, SetAccess: true, CheckAccess: true, Author: 5}); a.Err != nil || a.Seq != 1 {
		t.Fatalf("%+v", a)
	}
	for _, other := range []uint64{0, 2, 1<<63 - 1, 1<<64 - 1} {
		if a := Append(l, &timeline.AppendRequest{Key: k, CheckAccess: true, ExpectedAccess: other}); a.Err != timeline.ErrStale || a.Seq != 0 {
			t.Fatalf("%d: %+v", other, a)
		}
	}
	if a := Append(l, &timeline.AppendRequest{Key: k, CheckAccess: true, ExpectedAccess: 1, Author: 6, Counts: true}); a.Err != nil || a.Seq != 2 {
		t.Fatalf("%+v", a)
	}
	tail, err := l.Tail(context.Background(), k)
	must(t, err)
	if (tail != timeline.Tail{Seq: 2, Counted: 1, Access: 1}) {
		t.Errorf("%+v", tail)
	}
	for author, want := range map[uint64][2]uint64{5: {1, 0}, 6: {2, 1}, 7: {}} {
		if seq, counted, err := l.LatestByAuthor(context.Background(), k, author); err != nil || seq != want[0] || counted != want[1] {
			t.Errorf("last by %d: %d %d %v", author, seq, counted, err)
		}
	}
}

func testRecords(t *testing.T, open Open) {
	var mu sync.Mutex
	heard := map[uint16][]timeline.Commit{}
	l := open(t, func(commits []timeline.Commit) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range commits {
			heard[c.Partition] = append(heard[c.Partition], c)
		}
	})
	const entries = 300
	var wait sync.WaitGroup
	for i := range entries {
		wait.Add(1)
		l.Append(&timeline.AppendRequest{Key: conversation(uint64(i%20 + 1)), Payload: fmt.Append(nil, i), NeedsFanout: i%10 != 0, Done: func(*timeline.AppendRequest) { wait.Done() }})
	}
	wait.Wait()
	ctx, named := context.Background(), 0
	entriesOf := map[uint16]map[uint64]int{} // by partition and record
	for p := range uint16(timeline.Partitions) {
		records := allRecords(t, l, p)
		entriesOf[p] = map[uint64]int{}
		for i, r := range records {
			if r.Seq != uint64(i+1) {
				t.Fatalf("partition %d: record %d is at %d", p, r.Seq, i)
			}
			got, err := l.Get(ctx, r.Refs)
			must(t, err)
			entriesOf[p][r.Seq] = len(got)
			named += len(got)
		}
		if len(records) > 1 {
			must(t, l.PutCheckpoint(ctx, p, 1))
			at, err := l.Checkpoint(ctx, p)
			must(t, err)
			rest, err := timeline.AwaitFanoutRecords(ctx, l, p, at, 1)
			must(t, err)
			if at != 1 || len(rest) != 1 || rest[0].Seq != 2 {
				t.Errorf("after the checkpoint %d: %+v", at, rest)
			}
		}
	}
	if named != entries*9/10 {
		t.Errorf("records name %d entries", named)
	}
	must(t, l.Close()) // the listener has got everything
	told := 0
	for p, commits := range heard {
		last := uint64(0) // an abandoned record has no entries and is not reported
		for _, c := range commits {
			if c.RecordSeq <= last || len(c.Entries) != entriesOf[p][c.RecordSeq] {
				t.Errorf("partition %d: the listener got %d entries of record %d, which has %d, after record %d", p, len(c.Entries), c.RecordSeq, entriesOf[p][c.RecordSeq], last)
			}
			last = c.RecordSeq
			told += len(c.Entries)
		}
	}
	if told != named {
		t.Errorf("the listener got %d entries of %d", told, named)
	}
}

// allRecords returns the records of a partition, page by page.
func allRecords(t *testing.T, l timeline.Log, partition uint16) (all []timeline.FanoutRecord) {
	for {
		some, err := timeline.AwaitFanoutRecords(context.Background(), l, partition, uint64(len(all)), 100)
		must(t, err)
		if len(some) == 0 {
			return all
		}
		all = append(all, some...)
	}
}

func testPosts(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx := context.Background()
	posts := []timeline.Post{{Key: inbox(1), Payload: []byte("a")}, {Key: inbox(2), Payload: []byte("b")}, {Key: inbox(1), Payload: []byte("c")}}
	must(t, l.Post(ctx, posts))
	first := uint64(l.Epoch())<<32 + 1
	if posts[0].Seq != first || posts[0].Prev != 0 || posts[2].Seq != first+1 || posts[2].Prev != first || posts[1].Seq != first {
		t.Fatalf("%+v", posts)
	}
	entries, err := l.Read(ctx, inbox(1), 0, 10)
	must(t, err)
	if len(entries) != 2 || string(entries[1].Payload) != "c" || entries[1].Prev != first {
		t.Fatalf("%+v", entries)
	}
	must(t, l.Trim(ctx, inbox(1), first+1))
	tail, err := l.Tail(ctx, inbox(1))
	must(t, err)
	entries, err = l.Read(ctx, inbox(1), 0, 10)
	must(t, err)
	if tail.Seq != first+1 || tail.FirstSeq != first+1 || len(entries) != 1 {
		t.Errorf("after the trim: %+v, %+v", tail, entries)
	}
}

func testExpire(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx, k := context.Background(), conversation(1)
	token := func(n uint64) timeline.Token { return timeline.Token{Sender: 7, Device: 8, Counter: n} }
	for n := range uint64(8) {
		for _, key := range []timeline.Key{k, conversation(2)} {
			must(t, Append(l, &timeline.AppendRequest{Key: key, Payload: fmt.Append(nil, n+1), Token: token(n + 1), Author: 5 + n%2, Counts: n != 0, SetAccess: n == 0}).Err)
		}
	}
	seqs := func(key timeline.Key) string {
		t.Helper()
		entries, err := l.Read(ctx, key, 0, 100)
		must(t, err)
		var s []uint64
		for _, e := range entries {
			s = append(s, e.Seq)
		}
		return fmt.Sprint(s)
	}
	for _, step := range []struct {
		head uint64
		keep []uint64
		want string
		at   uint64
	}{
		{0, nil, "[1 2 3 4 5 6 7 8]", 0},
		{1, nil, "[1 2 3 4 5 6 7 8]", 0},
		{4, []uint64{1, 3}, "[1 3 4 5 6 7 8]", 4},
		{3, nil, "[1 3 4 5 6 7 8]", 4}, // the first seq never decreases
		{6, []uint64{7}, "[1 3 6 7 8]", 6},
		{100, nil, "[1 3]", 9},
	} {
		must(t, l.Expire(ctx, k, step.head, step.keep))
		tail, err := l.Tail(ctx, k)
		must(t, err)
		if got := seqs(k); got != step.want || (tail != timeline.Tail{Seq: 8, Counted: 7, Access: 1, FirstSeq: step.at}) {
			t.Fatalf("Expire(%d, keep %v): %s remain, the tail is %+v", step.head, step.keep, got, tail)
		}
	}
	if got := seqs(conversation(2)); got != "[1 2 3 4 5 6 7 8]" {
		t.Errorf("another conversation has %s", got)
	}
	// A retry of an expired entry stores nothing, that of a kept one finds it, and the conversation continues.
	if a := Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("2"), Token: token(2), Counts: true}); a.Err != nil || !a.Duplicate || a.Seq != 2 || a.StoredPayload != nil {
		t.Errorf("the retry of an expired entry: %+v", a)
	}
	if a := Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("3"), Token: token(3), Counts: true}); a.Err != nil || !a.Duplicate || a.Seq != 3 || string(a.StoredPayload) != "3" || a.Counted != 2 {
		t.Errorf("the retry of a kept entry: %+v", a)
	}
	if a := Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("9"), Token: token(9), Counts: true}); a.Err != nil || a.Duplicate || a.Seq != 9 || a.Counted != 8 {
		t.Errorf("after everything has expired: %+v", a)
	}
	if seq, counted, err := l.LatestByAuthor(ctx, k, 6); err != nil || seq != 8 || counted != 7 {
		t.Errorf("the latest entry of an author whose entries expired: %d, %d, %v", seq, counted, err)
	}
	if got := seqs(k); got != "[1 3 9]" {
		t.Errorf("at the end the entries are %s", got)
	}
}

func same(t *rapid.T, what string, got, want []timeline.Entry, err error) {
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Seq != w.Seq || g.Counted != w.Counted || g.Prev != w.Prev || !bytes.Equal(g.Payload, w.Payload) {
			t.Fatalf("%s: entry %d is %+v, want %+v", what, i, g, w)
		}
	}
}

func testModel(t *testing.T, r *rapid.T, open Open) {
	l := open(t, nil)
	defer func() { must(t, l.Close()) }()
	model := memlog.New(nil)
	ctx := context.Background()
	r.Repeat(map[string]func(*rapid.T){
		"append": func(r *rapid.T) { appendToBoth(r, l, model) },
		"post": func(r *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(r, "posts")
			posts := make([]timeline.Post, n)
			for i := range posts {
				posts[i] = timeline.Post{Key: inbox(rapid.Uint64Range(1, 3).Draw(r, "inbox")), Payload: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(r, "payload")}
			}
			must(t, model.Post(ctx, posts))
			must(t, l.Post(ctx, posts))
		},
		"trim": func(r *rapid.T) {
			k, head := inbox(rapid.Uint64Range(1, 3).Draw(r, "inbox")), 1<<32+rapid.Uint64Range(1, 9).Draw(r, "head")
			tail, err := model.Tail(ctx, k)
			must(t, err)
			if head > tail.Seq {
				return // a trim keeps the newest entry
			}
			must(t, model.Trim(ctx, k, head))
			must(t, l.Trim(ctx, k, head))
		},
		"expire": func(r *rapid.T) {
			k, head := modelKey.Draw(r, "key"), rapid.Uint64Range(0, 9).Draw(r, "head")
			var keep []uint64
			for seq := range uint64(10) {
				if rapid.IntRange(0, 2).Draw(r, "kept") == 0 {
					keep = append(keep, seq)
				}
			}
			must(t, model.Expire(ctx, k, head, keep))
			must(t, l.Expire(ctx, k, head, keep))
		},
		"": func(r *rapid.T) {
			compareTails(r, l, model)
			compareReads(r, l, model)
			compareGets(r, l, model)
		},
	})
}
