package timelinetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

func testReplace(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx, k := context.Background(), conversation(1)
	token := func(n uint64) timeline.Token { return timeline.Token{Sender: 7, Device: 8, Counter: n} }
	for n := uint64(1); n <= 6; n++ {
		for _, key := range []timeline.Key{k, conversation(2)} {
			must(t, Append(l, &timeline.AppendRequest{Key: key, Payload: fmt.Appendf(nil, "secret %d", n), Token: token(n), Author: 7, Counts: n != 2, SetAccess: n == 1, NeedsFanout: true}).Err)
		}
	}
	must(t, l.Expire(ctx, k, 3, nil))
	before, err := l.Tail(ctx, k)
	must(t, err)
	replaced := []timeline.Entry{{Seq: 5, Payload: []byte("e")}, {Seq: 2, Payload: []byte("expired")}, {Seq: 3, Payload: []byte("c, which is longer than before")}, {Seq: 7, Payload: []byte("never stored")}}
	for range 2 { // a repetition changes nothing
		must(t, l.Replace(ctx, k, replaced))
		checkEntries(t, l, k, "3 2 c, which is longer than before", "4 3 secret 4", "5 4 e", "6 5 secret 6")
	}
	checkEntries(t, l, conversation(2), "1 1 secret 1", "2 1 secret 2", "3 2 secret 3", "4 3 secret 4", "5 4 secret 5", "6 5 secret 6")
	if after, err := l.Tail(ctx, k); err != nil || after != before {
		t.Errorf("the tail is %+v, %v; it was %+v", after, err, before)
	}
	if seq, counted, err := l.LatestByAuthor(ctx, k, 7); err != nil || seq != 6 || counted != 5 {
		t.Errorf("the author's latest is %d, %d, %v", seq, counted, err)
	}
	// A retry finds the entry as it is now, and the conversation continues.
	if a := Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("secret 5"), Token: token(5), Counts: true}); a.Err != nil || !a.Duplicate || a.Seq != 5 || string(a.StoredPayload) != "e" {
		t.Errorf("the retry of a replaced entry: %+v", a)
	}
	if a := Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("seven"), Token: token(7), Counts: true}); a.Err != nil || a.Duplicate || a.Seq != 7 || a.Counted != 6 {
		t.Errorf("the next entry: %+v", a)
	}
}

// checkEntries compares what is read of a conversation: seq, count and payload.
func checkEntries(t *testing.T, l timeline.Log, k timeline.Key, want ...string) {
	t.Helper()
	entries, err := l.Read(context.Background(), k, 0, 100)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%d %d %s", e.Seq, e.Counted, e.Payload))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("conversation %d has %q, not %q", k.ID, got, want)
	}
}
