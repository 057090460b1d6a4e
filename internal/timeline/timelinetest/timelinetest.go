// Package timelinetest is the suite that every timeline.Log passes: each promise of the port, and random operations compared
// with the in-memory model.
package timelinetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
	"pgregory.net/rapid"
)

// Open opens a log that is empty. The suite closes it.
type Open func(t testing.TB, listener timeline.Listener) timeline.Log

// Run holds a log to its promises.
func Run(t *testing.T, fresh Open) {
	open := func(t testing.TB, listener timeline.Listener) timeline.Log {
		l := fresh(t, listener)
		for p := range uint16(timeline.Partitions) {
			must(t, l.Take(context.Background(), p))
		}
		return l
	}
	t.Run("order without a gap from many goroutines", func(t *testing.T) { testOrder(t, open) })
	t.Run("a retry is harmless", func(t *testing.T) { testTokens(t, open) })
	t.Run("append is conditional on the access version", func(t *testing.T) { testAccess(t, open) })
	t.Run("records name every carried entry", func(t *testing.T) { testRecords(t, open) })
	t.Run("many tails as one by one", func(t *testing.T) { testTails(t, open) })
	t.Run("posts chain", func(t *testing.T) { testPosts(t, open) })
	t.Run("what expires is gone and nothing else", func(t *testing.T) { testExpire(t, open) })
	t.Run("a closed log refuses", func(t *testing.T) {
		l := open(t, nil)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if a := Append(l, &timeline.Append{Key: conversation(1)}); a.Err != timeline.ErrClosed {
			t.Errorf("got %v", a.Err)
		}
	})
	t.Run("random operations as the model", func(t *testing.T) { rapid.Check(t, func(r *rapid.T) { testModel(t, r, open) }) })
}

func conversation(id uint64) timeline.Key { return timeline.Key{Kind: timeline.Conversation, ID: id} }
func inbox(id uint64) timeline.Key        { return timeline.Key{Kind: timeline.Inbox, ID: id} }

// Append appends and waits.
func Append(l timeline.Log, a *timeline.Append) *timeline.Append {
	done := make(chan struct{})
	a.Done = func(*timeline.Append) { close(done) }
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
				a := Append(l, &timeline.Append{Key: k, Payload: fmt.Appendf(nil, "%d/%d", w, i), Counts: i%2 == 0})
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
		first := Append(l, &timeline.Append{Key: conversation(1), Payload: []byte("first"), Token: token, Counts: true})
		again := Append(l, &timeline.Append{Key: conversation(1), Payload: []byte("again"), Token: token, Counts: true})
		if first.Err != nil || first.Duplicate || again.Err != nil || !again.Duplicate || again.Seq != first.Seq || again.Counted != first.Counted || string(again.Stored) != "first" {
			t.Fatalf("%+v: %+v then %+v", token, first, again)
		}
		other := Append(l, &timeline.Append{Key: conversation(2), Payload: []byte("other"), Token: token})
		if other.Err != nil || other.Duplicate {
			t.Fatalf("%+v in another key: %+v", token, other)
		}
	}
	// In one call, and so perhaps in one batch.
	var wait sync.WaitGroup
	appends := make([]*timeline.Append, 10)
	for i := range appends {
		wait.Add(1)
		appends[i] = &timeline.Append{Key: conversation(1), Payload: []byte("same"), Token: counter(100 + uint64(i/5)), Done: func(*timeline.Append) { wait.Done() }}
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
	if a := Append(l, &timeline.Append{Key: k, SetAccess: true, CheckAccess: true, Author: 5}); a.Err != nil || a.Seq != 1 {
		t.Fatalf("%+v", a)
	}
	for _, other := range []uint64{0, 2, 1<<63 - 1, 1<<64 - 1} {
		if a := Append(l, &timeline.Append{Key: k, CheckAccess: true, IfAccess: other}); a.Err != timeline.ErrStale || a.Seq != 0 {
			t.Fatalf("%d: %+v", other, a)
		}
	}
	if a := Append(l, &timeline.Append{Key: k, CheckAccess: true, IfAccess: 1, Author: 6, Counts: true}); a.Err != nil || a.Seq != 2 {
		t.Fatalf("%+v", a)
	}
	tail, err := l.Tail(context.Background(), k)
	must(t, err)
	if (tail != timeline.Tail{Seq: 2, Counted: 1, Access: 1}) {
		t.Errorf("%+v", tail)
	}
	for author, want := range map[uint64][2]uint64{5: {1, 0}, 6: {2, 1}, 7: {}} {
		if seq, counted, err := l.LastBy(context.Background(), k, author); err != nil || seq != want[0] || counted != want[1] {
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
		l.Append(&timeline.Append{Key: conversation(uint64(i%20 + 1)), Payload: fmt.Append(nil, i), Carry: i%10 != 0, Done: func(*timeline.Append) { wait.Done() }})
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
			rest, err := timeline.AwaitRecords(ctx, l, p, at, 1)
			must(t, err)
			if at != 1 || len(rest) != 1 || rest[0].Seq != 2 {
				t.Errorf("after the checkpoint %d: %+v", at, rest)
			}
		}
	}
	if named != entries*9/10 {
		t.Errorf("records name %d entries", named)
	}
	must(t, l.Close()) // the listener has been told all
	told := 0
	for p, commits := range heard {
		last := uint64(0) // a record that was given up has no entries, and nobody is told of it
		for _, c := range commits {
			if c.Record <= last || len(c.Entries) != entriesOf[p][c.Record] {
				t.Errorf("partition %d: told %d entries of record %d, which has %d, after record %d", p, len(c.Entries), c.Record, entriesOf[p][c.Record], last)
			}
			last = c.Record
			told += len(c.Entries)
		}
	}
	if told != named {
		t.Errorf("the listener was told %d entries of %d", told, named)
	}
}

// allRecords of a partition, however many the log gives at a time.
func allRecords(t *testing.T, l timeline.Log, partition uint16) (all []timeline.Record) {
	for {
		some, err := timeline.AwaitRecords(context.Background(), l, partition, uint64(len(all)), 100)
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
	if tail.Seq != first+1 || tail.Head != first+1 || len(entries) != 1 {
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
			must(t, Append(l, &timeline.Append{Key: key, Payload: fmt.Append(nil, n+1), Token: token(n + 1), Author: 5 + n%2, Counts: n != 0, SetAccess: n == 0}).Err)
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
		{3, nil, "[1 3 4 5 6 7 8]", 4}, // a head never goes back
		{6, []uint64{7}, "[1 3 6 7 8]", 6},
		{100, nil, "[1 3]", 9},
	} {
		must(t, l.Expire(ctx, k, step.head, step.keep))
		tail, err := l.Tail(ctx, k)
		must(t, err)
		if got := seqs(k); got != step.want || (tail != timeline.Tail{Seq: 8, Counted: 7, Access: 1, Head: step.at}) {
			t.Fatalf("below %d, but %v: %s are left, the tail is %+v", step.head, step.keep, got, tail)
		}
	}
	if got := seqs(conversation(2)); got != "[1 2 3 4 5 6 7 8]" {
		t.Errorf("another conversation has %s", got)
	}
	// A retry of what has expired stores nothing, of what was kept finds it; and the conversation goes on.
	if a := Append(l, &timeline.Append{Key: k, Payload: []byte("2"), Token: token(2), Counts: true}); a.Err != nil || !a.Duplicate || a.Seq != 2 || a.Stored != nil {
		t.Errorf("the retry of one that expired: %+v", a)
	}
	if a := Append(l, &timeline.Append{Key: k, Payload: []byte("3"), Token: token(3), Counts: true}); a.Err != nil || !a.Duplicate || a.Seq != 3 || string(a.Stored) != "3" || a.Counted != 2 {
		t.Errorf("the retry of one that was kept: %+v", a)
	}
	if a := Append(l, &timeline.Append{Key: k, Payload: []byte("9"), Token: token(9), Counts: true}); a.Err != nil || a.Duplicate || a.Seq != 9 || a.Counted != 8 {
		t.Errorf("after all has expired: %+v", a)
	}
	if seq, counted, err := l.LastBy(ctx, k, 6); err != nil || seq != 8 || counted != 7 {
		t.Errorf("the last by one whose entries expired: %d, %d, %v", seq, counted, err)
	}
	if got := seqs(k); got != "[1 3 9]" {
		t.Errorf("at the end there are %s", got)
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
	key := rapid.Custom(func(r *rapid.T) timeline.Key { return conversation(rapid.Uint64Range(1, 3).Draw(r, "key")) })
	r.Repeat(map[string]func(*rapid.T){
		"append": func(r *rapid.T) {
			a := timeline.Append{Key: key.Draw(r, "key"), Payload: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "payload"),
				Author: rapid.Uint64Range(0, 2).Draw(r, "author"), Counts: rapid.Bool().Draw(r, "counts"), Carry: rapid.Bool().Draw(r, "carry")}
			switch rapid.IntRange(0, 3).Draw(r, "token") {
			case 0:
				a.Token = timeline.Token{Sender: 1, Device: rapid.Uint64Range(1, 2).Draw(r, "device"), Counter: rapid.Uint64Range(1, 12).Draw(r, "counter")}
			case 1:
				a.Token.Sum[3] = rapid.ByteRange(1, 4).Draw(r, "sum")
			case 2:
				a.CheckAccess, a.IfAccess, a.SetAccess = true, rapid.Uint64Range(0, 6).Draw(r, "if"), rapid.Bool().Draw(r, "set")
			}
			b := a
			got, want := Append(l, &a), Append(model, &b)
			if got.Seq != want.Seq || got.Counted != want.Counted || got.Duplicate != want.Duplicate || got.Err != want.Err || !bytes.Equal(got.Stored, want.Stored) {
				r.Fatalf("got %+v, want %+v", got, want)
			}
		},
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
				return // a trim leaves the newest entry
			}
			must(t, model.Trim(ctx, k, head))
			must(t, l.Trim(ctx, k, head))
		},
		"expire": func(r *rapid.T) {
			k, head := key.Draw(r, "key"), rapid.Uint64Range(0, 9).Draw(r, "head")
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
			keys := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) timeline.Key {
				return timeline.Key{Kind: rapid.SampledFrom([]timeline.Kind{timeline.Conversation, timeline.Inbox}).Draw(r, "kind"), ID: rapid.Uint64Range(1, 4).Draw(r, "id")}
			}), 0, 5).Draw(r, "keys")
			wantTails, _ := model.Tails(ctx, keys)
			if tails, err := l.Tails(ctx, keys); err != nil || !slices.Equal(tails, wantTails) {
				r.Fatalf("tails of %v are %+v, want %+v, %v", keys, tails, wantTails, err)
			}
			for i := range uint64(3) {
				for _, k := range []timeline.Key{conversation(i + 1), inbox(i + 1)} {
					want, _ := model.Read(ctx, k, 0, 1000)
					got, err := l.Read(ctx, k, 0, 1000)
					same(r, "read", got, want, err)
					from := rapid.Uint64Range(0, 8).Draw(r, "from")
					want, _ = model.ReadBack(ctx, k, from, 3)
					got, err = l.ReadBack(ctx, k, from, 3)
					same(r, "read back", got, want, err)
					wantTail, _ := model.Tail(ctx, k)
					tail, err := l.Tail(ctx, k)
					if err != nil || tail != wantTail {
						r.Fatalf("tail of %v is %+v, want %+v, %v", k, tail, wantTail, err)
					}
				}
			}
			refs := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) timeline.Ref {
				from := rapid.Uint64Range(1, 9).Draw(r, "from")
				return timeline.Ref{Key: key.Draw(r, "key"), From: from, To: from + rapid.Uint64Range(0, 3).Draw(r, "more")}
			}), 0, 5).Draw(r, "refs")
			want, _ := model.Get(ctx, refs)
			got, err := l.Get(ctx, refs)
			same(r, "get", got, want, err)
			most := rapid.IntRange(0, 40).Draw(r, "most")
			want, wantErr := model.GetMost(ctx, refs, most)
			got, err = l.GetMost(ctx, refs, most)
			if wantErr != nil {
				if !errors.Is(err, wantErr) {
					r.Fatalf("%d bytes of %v: %d entries, %v, want %v", most, refs, len(got), err, wantErr)
				}
				return
			}
			same(r, "get most", got, want, err)
		},
	})
}
