package pebblelog

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func feedKey(i int) timeline.Key { return timeline.Key{Kind: timeline.Feed, ID: uint64(i + 1)} }

// Fan-out reads the tails of the same feeds for each post. From the second time on it reads no row, and sees each append and each expiry.
func TestTailsOfFeedsAreCached(t *testing.T) {
	ctx := t.Context()
	l, err := Open("log", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // rows are missing from it
	appendTo := func(k timeline.Key) {
		t.Helper()
		if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("a")}); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	keys := []timeline.Key{feedKey(0), feedKey(1), {Kind: timeline.Conversation, ID: 1}, feedKey(0)}
	check := func(what string, want ...timeline.Tail) {
		t.Helper()
		if tails, err := l.Tails(ctx, keys); err != nil || !slices.Equal(tails, append(want, want[0])) {
			t.Errorf("%s: tails are %+v, %v, want %+v", what, tails, err, want)
		}
	}
	for _, k := range keys[:3] {
		appendTo(k)
	}
	check("first", timeline.Tail{Seq: 1}, timeline.Tail{Seq: 1}, timeline.Tail{Seq: 1})
	for _, k := range keys[:3] {
		if err := l.db.Delete(timelineKey(nil, rowTail, k), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	check("without rows", timeline.Tail{Seq: 1}, timeline.Tail{Seq: 1}, timeline.Tail{})
	appendTo(keys[0])
	check("after an append", timeline.Tail{Seq: 2}, timeline.Tail{Seq: 1}, timeline.Tail{})
	if err := errors.Join(l.Expire(ctx, keys[0], 2, nil), l.db.Delete(timelineKey(nil, rowFirstSeq, keys[0]), pebble.NoSync)); err != nil {
		t.Fatal(err)
	}
	check("after an expiry", timeline.Tail{Seq: 2, FirstSeq: 2}, timeline.Tail{Seq: 1}, timeline.Tail{})
	appendTo(keys[0])
	check("after an append to what has expired", timeline.Tail{Seq: 3, FirstSeq: 2}, timeline.Tail{Seq: 1}, timeline.Tail{})
}

// What was read before a change is not cached after it.
func TestAChangeDuringAReadOfTails(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(l *Log, k timeline.Key) error
		want   timeline.Tail
	}{
		{"append", func(l *Log, k timeline.Key) error {
			return timelinetest.Append(l, &timeline.AppendRequest{Key: k}).Err
		}, timeline.Tail{Seq: 2}},
		{"expiry", func(l *Log, k timeline.Key) error { return l.Expire(t.Context(), k, 2, nil) }, timeline.Tail{Seq: 1, FirstSeq: 2}},
		{"read", func(l *Log, k timeline.Key) error {
			_, err := l.Tails(t.Context(), []timeline.Key{k})
			return errors.Join(err, timelinetest.Append(l, &timeline.AppendRequest{Key: k}).Err)
		}, timeline.Tail{Seq: 2}},
	} {
		l, err := Open("log", Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		keys, tails := []timeline.Key{feedKey(0)}, make([]timeline.Tail, 1)
		if a := timelinetest.Append(l, &timeline.AppendRequest{Key: keys[0]}); a.Err != nil {
			t.Fatal(a.Err)
		}
		missing, read := l.feeds.get(keys, tails)
		if tails[0], err = l.Tail(t.Context(), keys[0]); err != nil {
			t.Fatal(err)
		}
		if err := c.change(l, keys[0]); err != nil {
			t.Fatal(err)
		}
		l.feeds.put(read, keys, tails, missing)
		if tails, err := l.Tails(t.Context(), keys); err != nil || tails[0] != c.want {
			t.Errorf("after an %s during a read the tail is %+v, %v, want %+v", c.what, tails, err, c.want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Readers that cache tails beside appends and expiries never hide one that was answered. The cache is so small that tails are dropped all the time, and so
// large that none is.
func TestReadersOfTailsBesideAppends(t *testing.T) {
	ctx := t.Context()
	for _, cached := range []int{8, 1 << 18} {
		l, err := Open("log", Options{FS: vfs.NewMem(), cachedKeys: cached})
		if err != nil {
			t.Fatal(err)
		}
		const feeds, rounds = 12, 60
		var keys []timeline.Key
		for i := range feeds {
			keys = append(keys, feedKey(i))
		}
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				last := make([]timeline.Tail, feeds)
				for {
					select {
					case <-stop:
						return
					default:
					}
					tails, err := l.Tails(ctx, keys)
					for i := range tails {
						if tails[i].Seq < last[i].Seq || tails[i].FirstSeq < last[i].FirstSeq {
							t.Errorf("tail %+v after %+v", tails[i], last[i])
							return
						}
					}
					if err != nil {
						t.Error(err)
						return
					}
					last = tails
				}
			})
		}
		for round := range uint64(rounds) {
			for i, k := range keys {
				if uint64(i)%7 == round%7 {
					continue
				}
				a := timelinetest.Append(l, &timeline.AppendRequest{Key: k})
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				first := a.Seq + 1 - uint64(i)%2
				if err := l.Expire(ctx, k, first, nil); err != nil {
					t.Fatal(err)
				}
				if tails, err := l.Tails(ctx, keys[i:i+1]); err != nil || tails[0] != (timeline.Tail{Seq: a.Seq, FirstSeq: max(first, 2)}) && first > 1 {
					t.Fatalf("round %d: the tail of feed %d is %+v, %v, want seq %d and first %d", round, i, tails, err, a.Seq, first)
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
