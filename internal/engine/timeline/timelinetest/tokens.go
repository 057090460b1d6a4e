package timelinetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// appendAll appends entries in one call, so that engines with batches put them into one, and waits for all of them.
func appendAll(t *testing.T, l timeline.Log, appends []*timeline.AppendRequest) {
	t.Helper()
	var wait sync.WaitGroup
	wait.Add(len(appends))
	for _, a := range appends {
		a.Done = func(*timeline.AppendRequest) { wait.Done() }
	}
	l.Append(appends...)
	wait.Wait()
	for i, a := range appends {
		if a.Err != nil {
			t.Fatalf("append %d: %v", i, a.Err)
		}
	}
}

// testAuthors: among several entries of an author in a batch the last one counts, and among several batches that of the last.
func testAuthors(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	type place struct{ key, author uint64 }
	want := map[place][2]uint64{}
	for batch, authors := range [][]uint64{{5, 6, 5, 5, 6, 5, 0, 7}, {6, 5, 6}, {5}, {0}, {7, 7, 7}} {
		var appends []*timeline.AppendRequest
		for i, author := range authors {
			for k := range uint64(2) {
				appends = append(appends, &timeline.AppendRequest{Key: conversation(k + 1), Payload: fmt.Appendf(nil, "%d/%d", batch, i), Author: author, Counts: i%3 != 2})
			}
		}
		appendAll(t, l, appends)
		for _, a := range appends {
			if a.Author != 0 {
				want[place{a.Key.ID, a.Author}] = [2]uint64{a.Seq, a.Counted}
			}
		}
		for at, want := range want {
			seq, counted, err := l.LatestByAuthor(context.Background(), conversation(at.key), at.author)
			if err != nil || seq != want[0] || counted != want[1] {
				t.Errorf("after batch %d the latest entry of author %d in %d is %d (counted %d), want %d (%d); %v", batch, at.author, at.key, seq, counted, want[0], want[1], err)
			}
		}
	}
}

// testOldTokens: a retry is harmless after many later entries, of the same device and others, in its conversation and others.
func testOldTokens(t *testing.T, open Open) {
	const later = 1100
	l := open(t, nil)
	defer l.Close()
	counter := func(n uint64) timeline.Token { return timeline.Token{Sender: 7, Device: 8, Counter: n} }
	var first []*timeline.AppendRequest
	for n := range uint64(3) {
		first = append(first, &timeline.AppendRequest{Key: conversation(1), Payload: fmt.Append(nil, n), Token: counter(n + 1), Counts: true})
		first = append(first, &timeline.AppendRequest{Key: conversation(1), Payload: fmt.Append(nil, 10+n), Token: timeline.Token{Sender: 7, Device: 8, Sum: [16]byte{byte(n + 1)}}, Counts: true})
	}
	appendAll(t, l, first)
	var others []*timeline.AppendRequest
	for n := range uint64(later) {
		a := &timeline.AppendRequest{Key: conversation(1 + n%2), Payload: []byte("later"), Token: counter(100 + n), Counts: true}
		if n%3 == 0 {
			a.Token = timeline.Token{Sender: 9, Device: 8, Sum: [16]byte{0xff, byte(n >> 8), byte(n)}}
		}
		others = append(others, a)
	}
	for some := range slices.Chunk(others, 100) {
		appendAll(t, l, some)
	}
	var more []*timeline.AppendRequest // now all later entries are in the same conversation
	for n := range uint64(later) {
		more = append(more, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("more"), Token: timeline.Token{Sender: 10, Device: 8, Counter: n + 1}})
	}
	for some := range slices.Chunk(more, 100) {
		appendAll(t, l, some)
	}
	tail, err := l.Tail(context.Background(), conversation(1))
	must(t, err)
	for _, a := range slices.Concat(first, []*timeline.AppendRequest{others[0], others[later/2], more[0]}) {
		again := Append(l, &timeline.AppendRequest{Key: a.Key, Payload: []byte("again"), Token: a.Token, Counts: a.Counts})
		if again.Err != nil || !again.Duplicate || again.Seq != a.Seq || string(again.StoredPayload) != string(a.Payload) {
			t.Errorf("the retry of %q, stored at %d, got %+v", a.Payload, a.Seq, again)
		}
	}
	if now, err := l.Tail(context.Background(), conversation(1)); err != nil || now != tail {
		t.Errorf("retries moved the tail from %+v to %+v, %v", tail, now, err)
	}
}
