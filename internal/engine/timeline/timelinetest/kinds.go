package timelinetest

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// testKinds: timelines of all kinds may have the same ids.
func testKinds(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx := context.Background()
	for id := range uint64(3) {
		must(t, Append(l, &timeline.AppendRequest{Key: conversation(id + 1), Payload: []byte("conversation")}).Err)
		must(t, Append(l, &timeline.AppendRequest{Key: feed(id + 1), Payload: []byte("feed")}).Err)
		must(t, Append(l, &timeline.AppendRequest{Key: feed(id + 1), Payload: []byte("feed")}).Err)
		must(t, l.Post(ctx, []timeline.Post{{Key: inbox(id + 1), Payload: []byte("inbox")}}))
	}
	must(t, l.Expire(ctx, feed(2), 2, nil))
	for _, of := range []struct {
		key      timeline.Key
		payloads []string
	}{
		{conversation(2), []string{"conversation"}}, {inbox(2), []string{"inbox"}}, {feed(2), []string{"feed"}}, {feed(1), []string{"feed", "feed"}},
	} {
		entries, err := l.Read(ctx, of.key, 0, 10)
		must(t, err)
		var payloads []string
		for _, e := range entries {
			payloads = append(payloads, string(e.Payload))
		}
		if !slices.Equal(payloads, of.payloads) {
			t.Errorf("timeline %c%d has %q, want %q", of.key.Kind, of.key.ID, payloads, of.payloads)
		}
	}
	for _, kind := range timeline.Kinds {
		keys, err := l.Keys(ctx, kind, 1, 10)
		must(t, err)
		if want := []timeline.Key{{Kind: kind, ID: 2}, {Kind: kind, ID: 3}}; !slices.Equal(keys, want) {
			t.Errorf("the keys of kind %c above 1 are %v, want %v", kind, keys, want)
		}
		if keys, err = l.Keys(ctx, kind, 0, 2); err != nil || len(keys) != 2 || keys[0].ID != 1 {
			t.Errorf("the first keys of kind %c are %v, %v", kind, keys, err)
		}
	}
}
