package timelinetest

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

// modelKey draws one of the conversations and feeds of testModel. They have the same ids.
var modelKey = rapid.Custom(func(r *rapid.T) timeline.Key {
	return timeline.Key{Kind: rapid.SampledFrom([]timeline.Kind{timeline.Conversation, timeline.Conversation, timeline.Feed}).Draw(r, "kind"), ID: rapid.Uint64Range(1, 3).Draw(r, "key")}
})

// appendToBoth appends the same entry to a log and its model, which must answer the same.
func appendToBoth(r *rapid.T, l, model timeline.Log) {
	a := timeline.AppendRequest{Key: modelKey.Draw(r, "timeline"), Payload: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "payload"),
		Author: rapid.Uint64Range(0, 2).Draw(r, "author"), Counts: rapid.Bool().Draw(r, "counts"), NeedsFanout: rapid.Bool().Draw(r, "carry")}
	switch rapid.IntRange(0, 3).Draw(r, "token") {
	case 0:
		a.Token = timeline.Token{Sender: 1, Device: rapid.Uint64Range(1, 2).Draw(r, "device"), Counter: rapid.Uint64Range(1, 12).Draw(r, "counter")}
	case 1:
		a.Token.Sum[3] = rapid.ByteRange(1, 4).Draw(r, "sum")
	case 2:
		a.CheckAccess, a.ExpectedAccess, a.SetAccess = true, rapid.Uint64Range(0, 6).Draw(r, "if"), rapid.Bool().Draw(r, "set")
	}
	if a.Key.Kind == timeline.Feed {
		a = timeline.AppendRequest{Key: a.Key, Payload: a.Payload}
	}
	b := a
	got, want := Append(l, &a), Append(model, &b)
	if got.Seq != want.Seq || got.Counted != want.Counted || got.Duplicate != want.Duplicate || got.Err != want.Err || !bytes.Equal(got.StoredPayload, want.StoredPayload) {
		r.Fatalf("got %+v, want %+v", got, want)
	}
}

// compareTails compares the tails of some timelines.
func compareTails(r *rapid.T, l, model timeline.Log) {
	ctx := context.Background()
	keys := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) timeline.Key {
		return timeline.Key{Kind: rapid.SampledFrom(timeline.Kinds[:]).Draw(r, "kind"), ID: rapid.Uint64Range(1, 4).Draw(r, "id")}
	}), 0, 5).Draw(r, "keys")
	wantTails, _ := model.Tails(ctx, keys)
	if tails, err := l.Tails(ctx, keys); err != nil || !slices.Equal(tails, wantTails) {
		r.Fatalf("tails of %v are %+v, want %+v, %v", keys, tails, wantTails, err)
	}
}

// compareReads compares what all timelines read, forward and backward, and their tails.
func compareReads(r *rapid.T, l, model timeline.Log) {
	ctx := context.Background()
	for i := range uint64(3) {
		for _, k := range []timeline.Key{conversation(i + 1), inbox(i + 1), feed(i + 1)} {
			want, _ := model.Read(ctx, k, 0, 1000)
			got, err := l.Read(ctx, k, 0, 1000)
			same(r, "read", got, want, err)
			from := rapid.Uint64Range(0, 8).Draw(r, "from")
			if k.Kind == timeline.Inbox && from > 0 {
				from |= 1 << 32 // the first epoch
			}
			limit := rapid.IntRange(1, 4).Draw(r, "limit")
			want, _ = model.Read(ctx, k, from, limit)
			got, err = l.Read(ctx, k, from, limit)
			same(r, "read on", got, want, err)
			want, _ = model.ReadBackward(ctx, k, from, limit)
			got, err = l.ReadBackward(ctx, k, from, limit)
			same(r, "read back", got, want, err)
			wantTail, _ := model.Tail(ctx, k)
			tail, err := l.Tail(ctx, k)
			if err != nil || tail != wantTail {
				r.Fatalf("tail of %v is %+v, want %+v, %v", k, tail, wantTail, err)
			}
		}
	}
}

// compareGets compares what is read by refs.
func compareGets(r *rapid.T, l, model timeline.Log) {
	ctx := context.Background()
	refs := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) timeline.Ref {
		from := rapid.Uint64Range(1, 9).Draw(r, "from")
		ref := timeline.Ref{Key: modelKey.Draw(r, "key"), From: from, To: from + rapid.Uint64Range(0, 3).Draw(r, "more")}
		if rapid.Bool().Draw(r, "of an inbox") {
			ref = timeline.Ref{Key: inbox(ref.Key.ID), From: 1<<32 | ref.From, To: 1<<32 | ref.To}
		}
		return ref
	}), 0, 5).Draw(r, "refs")
	want, _ := model.Get(ctx, refs)
	got, err := l.Get(ctx, refs)
	same(r, "get", got, want, err)
	most := rapid.IntRange(0, 40).Draw(r, "most")
	want, wantErr := model.GetLimited(ctx, refs, most)
	got, err = l.GetLimited(ctx, refs, most)
	if wantErr != nil {
		if !errors.Is(err, wantErr) {
			r.Fatalf("%d bytes of %v: %d entries, %v, want %v", most, refs, len(got), err, wantErr)
		}
		return
	}
	same(r, "get most", got, want, err)
}
