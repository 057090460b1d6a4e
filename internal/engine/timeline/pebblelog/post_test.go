package pebblelog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Entries that one call posts to an inbox share rows of a bounded size. Any of them can be the first that a trim leaves, and the first that
// is read in either direction.
func TestPostsShareRows(t *testing.T) {
	ctx, inbox, other := t.Context(), timeline.Key{Kind: timeline.Inbox, ID: 9}, timeline.Key{Kind: timeline.Inbox, ID: 10}
	for _, c := range []struct {
		bytes int
		rows  uint64
	}{
		{bytes: 9, rows: 3},    // at most 64 entries in a row
		{bytes: 700, rows: 30}, // at most 4 KiB: five
		{bytes: 9000, rows: 150},
	} {
		l, err := Open("log", Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		const count = 150
		var posts []timeline.Post
		for i := range count {
			posts = append(posts, timeline.Post{Key: inbox, Payload: fmt.Appendf(nil, "%*d", c.bytes, i)})
			if i == 0 {
				posts = append(posts, timeline.Post{Key: other, Payload: []byte("alone")})
			}
		}
		if err := l.Post(ctx, posts); err != nil {
			t.Fatal(err)
		}
		if rows, err := l.Count(ctx, RowRanges()[1]); err != nil || rows != c.rows+1 {
			t.Errorf("%d entries of %d bytes are in %d rows, %v, want %d, and one of the other inbox", count, c.bytes, rows, err, c.rows+1)
		}
		const before = uint64(1) << 32 // the first epoch
		for head := range uint64(count) + 1 {
			if head > 0 {
				if err := l.Trim(ctx, inbox, before+head); err != nil {
					t.Fatal(err)
				}
			}
			first := max(head, 1)
			up, err1 := l.Read(ctx, inbox, 0, 2)
			down, err2 := l.ReadBackward(ctx, inbox, before+first+1, 2)
			got, err3 := l.Get(ctx, []timeline.Ref{{Key: inbox, From: before + first, To: before + first}})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatalf("the posts failed: %v, %v, %v", err1, err2, err3)
			}
			if len(up) != min(2, int(count-first+1)) || up[0].Seq != before+first || len(down) != 1 || down[0].Seq != before+first || len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(up[0]) {
				t.Fatalf("trimmed below %d: read up %d from %d, down %d, got %d", head, len(up), up[0].Seq-before, len(down), len(got))
			}
			if want := fmt.Sprintf("%*d", c.bytes, first-1); string(up[0].Payload) != want || string(down[0].Payload) != want {
				t.Fatalf("entry %d is %q and %q", first, up[0].Payload, down[0].Payload)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A trim into a corrupt row, or one in a corrupt block, removes what is below it and loses nothing else: the corrupt row is still reported,
// the entries behind it are read, and a trim behind it removes it.
func TestTrimIntoCorruptRow(t *testing.T) {
	ctx, k := t.Context(), timeline.Key{Kind: timeline.Inbox, ID: 9}
	const before = uint64(1) << 32 // the first epoch
	for name, block := range map[string]bool{"row": false, "block": true} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			l, err := Open("log", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			payload := make([]byte, 4<<10)
			rand.NewChaCha8([32]byte{}).Read(payload)
			for row := range 30 { // rows of two entries; each has about a block to itself
				if err := l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("first")}, {Key: k, Payload: append([]byte{byte(row)}, payload...)[:4<<10-5]}}); err != nil {
					t.Fatal(err)
				}
			}
			corrupt := entryKey(nil, k, before+22)
			if block {
				unique := make([]byte, 4<<10) // to find in the file
				rand.NewChaCha8([32]byte{1}).Read(unique)
				if err := l.db.Set(corrupt, unique, pebble.Sync); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(l.db.Flush(), l.Close()); err != nil {
					t.Fatal(err)
				}
				flip(t, fs, unique[200:300])
				l, err = Open("log", Options{FS: fs})
			} else {
				err = l.db.Set(corrupt, bytes.Repeat([]byte{0xff}, 20), pebble.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if _, err := l.Read(ctx, k, before+21, 1); !errors.Is(err, timeline.ErrCorrupt) || pebble.IsCorruptionError(err) != block {
				t.Fatalf("reading the corrupt row: got %v, want ErrCorrupt, by Pebble: %v", err, block)
			}
			if err := l.Trim(ctx, k, before+22); err != nil {
				t.Fatalf("trim into the corrupt row: got %v", err)
			}
			if tail, err := l.Tail(ctx, k); err != nil || tail.FirstSeq != before+22 || tail.Seq < before+60 {
				t.Errorf("got tail %+v, %v, want the first seq 22 and the last seq 60 of epoch 1", tail, err)
			}
			if _, err := l.Read(ctx, k, before+1, 1); !errors.Is(err, timeline.ErrCorrupt) {
				t.Errorf("reading from the corrupt row: got %v, want ErrCorrupt", err)
			}
			if e, err := l.Read(ctx, k, before+40, 100); err != nil || len(e) != 20 || e[0].Seq != before+41 {
				t.Errorf("reading behind it: got %d entries, %v, want 20 from 41 on", len(e), err)
			}
			if err := l.Trim(ctx, k, before+42); err != nil {
				t.Fatalf("trim behind the corrupt row: got %v", err)
			}
			if e, err := l.Read(ctx, k, before+41, 100); err != nil || len(e) != 19 || e[0].Seq != before+42 {
				t.Errorf("after that: got %d entries, %v, want 19 from 42 on", len(e), err)
			}
		})
	}
}
