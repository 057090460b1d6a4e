package timelinetest

import (
	"context"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// testTails reads more tails than engines read at once, of both kinds in turn. Each is at its position, including missing and repeated keys.
func testTails(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx := context.Background()
	var keys []timeline.Key
	var posts []timeline.Post
	for n := range uint64(8) {
		for range n % 4 {
			posts = append(posts, timeline.Post{Key: inbox(n), Payload: []byte("p")})
			must(t, Append(l, &timeline.AppendRequest{Key: conversation(n), Counts: n%2 == 0, SetAccess: n%3 == 0}).Err)
		}
	}
	must(t, l.Post(ctx, posts))
	for n := range uint64(8) {
		if n%4 == 3 {
			must(t, l.Trim(ctx, inbox(n), uint64(l.Epoch())<<32+3))
			must(t, l.Expire(ctx, conversation(n), 2, nil))
		}
		keys = append(keys, inbox(n), conversation(n), inbox(7))
	}
	for n := range uint64(1100) {
		keys = append(keys, inbox(1100-n))
	}
	got, err := l.Tails(ctx, keys)
	must(t, err)
	if len(got) != len(keys) {
		t.Fatalf("%d tails of %d keys", len(got), len(keys))
	}
	want := map[timeline.Key]timeline.Tail{}
	for i, k := range keys {
		if _, asked := want[k]; !asked && k.ID < 8 {
			want[k], err = l.Tail(ctx, k)
			must(t, err)
		}
		if got[i] != want[k] {
			t.Errorf("key %d, %v: %+v, alone %+v", i, k, got[i], want[k])
		}
	}
	if none, err := l.Tails(ctx, nil); err != nil || len(none) != 0 {
		t.Errorf("no keys: %v, %v", none, err)
	}
	over, end := context.WithCancel(ctx)
	end()
	if _, err := l.Tails(over, keys); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}
