package pebblelog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Each connection reads the end of its user's inbox and the highest counter of its device. The second one reads no table.
func TestEndsOfConnectionsAreCached(t *testing.T) {
	ctx, inbox := t.Context(), timeline.Key{Kind: timeline.Inbox, ID: 9}
	fs := vfs.NewMem()
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Post(ctx, []timeline.Post{{Key: inbox, Payload: []byte("a")}}); err != nil {
		t.Fatal(err)
	}
	if tail, err := l.Tail(ctx, inbox); err != nil || tail.Seq != 1<<32+1 {
		t.Fatalf("after a post: %+v, %v", tail, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open("log", Options{FS: fs}); err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // rows are missing from it
	check := func(what string, wantSeq, wantFirst, wantCounter uint64) {
		t.Helper()
		tail, err1 := l.Tail(ctx, inbox)
		counter, err2 := l.HighestCounter(ctx, 7, 8)
		if err1 != nil || err2 != nil || tail.Seq != wantSeq || tail.FirstSeq != wantFirst || counter != wantCounter {
			t.Errorf("%s: got tail %+v, %v, and counter %d, %v, want seq %d, first %d and counter %d", what, tail, err1, counter, err2, wantSeq, wantFirst, wantCounter)
		}
	}
	check("first", 1<<32+1, 0, 0)
	token := timeline.Token{Sender: 7, Device: 8, Counter: 5}
	if err := errors.Join(l.db.Set(tokenKey(nil, &token, inbox), []byte{1}, pebble.NoSync), l.db.Delete(entryKey(nil, inbox, 1<<32+1), pebble.NoSync)); err != nil {
		t.Fatal(err)
	}
	check("while the rows are others", 1<<32+1, 0, 0)
	if err := l.Post(ctx, []timeline.Post{{Key: inbox, Payload: []byte("b")}}); err != nil {
		t.Fatal(err)
	}
	check("after the next post", 2<<32+1, 0, 0)
	if err := l.Trim(ctx, inbox, 2<<32+1); err != nil {
		t.Fatal(err)
	}
	check("after a trim", 2<<32+1, 2<<32+1, 0)
}

// A reader that caches the end of an inbox beside posts and trims neither hides a later one from others, nor has a seq assigned twice. The
// caches are so small that ends are dropped all the time.
func TestReadersOfEndsBesidePosts(t *testing.T) {
	ctx := t.Context()
	for _, cached := range []int{tailStripes, 1 << 20} {
		l, err := Open("log", Options{FS: vfs.NewMem(), cachedInboxes: cached})
		if err != nil {
			t.Fatal(err)
		}
		const inboxes, rounds = 40, 300
		key := func(i int) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(i + 1)} }
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				var last [inboxes]uint64
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					i := n % inboxes
					tail, err := l.Tail(ctx, key(i))
					if err != nil || tail.Seq < last[i] {
						t.Errorf("tail %+v, %v, after %d", tail, err, last[i])
						return
					}
					last[i] = tail.Seq
				}
			})
		}
		var newest [inboxes]uint64
		for round := range rounds {
			posts := make([]timeline.Post, 0, inboxes)
			for i := range inboxes {
				if rand.IntN(2) == 0 {
					posts = append(posts, timeline.Post{Key: key(i), Payload: fmt.Appendf(nil, "%d", round)})
				}
			}
			if err := l.Post(ctx, posts); err != nil {
				t.Fatal(err)
			}
			for _, p := range posts {
				i := p.Key.ID - 1
				if p.Prev != newest[i] || p.Seq <= newest[i] {
					t.Fatalf("round %d: seq %d after %d, want above and after %d", round, p.Seq, p.Prev, newest[i])
				}
				newest[i] = p.Seq
			}
			if i := rand.IntN(inboxes); newest[i] != 0 {
				if err := l.Trim(ctx, key(i), newest[i]); err != nil {
					t.Fatal(err)
				}
				if tail, err := l.Tail(ctx, key(i)); err != nil || tail.Seq != newest[i] || tail.FirstSeq != newest[i] {
					t.Fatalf("after a trim below %d: %+v, %v", newest[i], tail, err)
				}
			}
		}
		close(stop)
		readers.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
