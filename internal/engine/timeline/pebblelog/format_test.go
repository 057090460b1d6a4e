package pebblelog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

// The rows of docs/formats/pebble.md. A change here is a change of the format: stored data must still be read.
var goldenRows = []struct{ what, key, value string }{
	{"conversation entry", "6563000000000000004d0000000000000001", "01016f6e65"},
	{"conversation entry", "6563000000000000004d0000000000000002", "010174776f"},
	{"conversation entry", "6563000000000000004d0000000000000003", "01027468726565"},
	{"conversation entry", "6563000000000000004e0000000000000001", "01006e616d65"},
	{"conversation entry", "6563000000000000004e0000000000000003", "01026e6577"},
	{"inbox entry", "656900000000000000090000000100000001", "0281808080106d61696c"},
	{"inbox entry", "656900000000000000090000000100000002", "02016d6f7265"},
	{"two inbox entries", "656900000000000000090000000100000004", "0301" + "0161" + "026263"},
	{"head of a conversation", "6863000000000000004e", "03"},
	{"token by counter", "6b0000000000000005000000000000000600000000000000" + "0763000000000000004d", "01"},
	{"epoch", "6d65706f6368", "01"},
	{"format", "6d666f726d6174", "01"},
	{"checkpoint", "700018", "01"},
	{"record", "7200180000000000000001", "634d0100"},
	{"record", "7200180000000000000002", "634d0300"},
	{"token by hash", "7301020300000000000000000000000000" + "63000000000000004d", "03"},
	{"tail", "7463000000000000004d", "030202"},
	{"author's latest", "7463000000000000004d0000000000000005", "0302"},
	{"tail", "7463000000000000004e", "030201"},
}

// The log writes the bytes that docs/formats/pebble.md describes.
func TestGoldenRows(t *testing.T) {
	fs := vfs.NewMem()
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	k, old := timeline.Key{Kind: timeline.Conversation, ID: 77}, timeline.Key{Kind: timeline.Conversation, ID: 78}
	for _, a := range []*timeline.AppendRequest{
		{Key: k, Payload: []byte("one"), Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Counter: 7}},
		{Key: k, Payload: []byte("two"), SetAccess: true},
		{Key: k, Payload: []byte("three"), Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Sum: [16]byte{1, 2, 3}}},
		{Key: old, Payload: []byte("name"), SetAccess: true},
		{Key: old, Payload: []byte("old"), Counts: true},
		{Key: old, Payload: []byte("new"), Counts: true},
	} {
		done := make(chan struct{})
		a.Done = func(*timeline.AppendRequest) { close(done) }
		l.Append(a)
		if <-done; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if err := l.Expire(t.Context(), old, 3, []uint64{1}); err != nil {
		t.Fatal(err)
	}
	inbox := timeline.Key{Kind: timeline.Inbox, ID: 9}
	for _, text := range []string{"mail", "more"} {
		if err := l.Post(t.Context(), []timeline.Post{{Key: inbox, Payload: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Post(t.Context(), []timeline.Post{{Key: inbox, Payload: []byte("a")}, {Key: inbox, Payload: []byte("bc")}}); err != nil {
		t.Fatal(err)
	}
	if err := l.PutCheckpoint(t.Context(), k.Partition(), 1); err != nil {
		t.Fatal(err)
	}
	it, err := l.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for ok := it.First(); ok; ok = it.Next() {
		got = append(got, fmt.Sprintf("%x %x", it.Key(), it.Value()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range max(len(got), len(goldenRows)) {
		want, have := "nothing", "nothing"
		if i < len(goldenRows) {
			want = goldenRows[i].key + " " + goldenRows[i].value
		}
		if i < len(got) {
			have = got[i]
		}
		if have != want {
			t.Errorf("row %d is\n%s, want\n%s", i, have, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A directory with these bytes is decoded to the expected values.
func TestGoldenRowsAreRead(t *testing.T) {
	fs, ctx := vfs.NewMem(), t.Context()
	db, err := pebble.Open("log", pebbleOptions(Options{FS: fs, Logger: quietLog(), Fatal: func(text string) { panic(text) }}, func(int) { runtime.Gosched() }))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range goldenRows {
		key, err1 := hex.DecodeString(r.key)
		value, err2 := hex.DecodeString(r.value)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: the row is not hexadecimal: %v, %v", r.what, err1, err2)
		}
		if err := db.Set(key, value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	k, inbox := timeline.Key{Kind: timeline.Conversation, ID: 77}, timeline.Key{Kind: timeline.Inbox, ID: 9}
	entries, err1 := l.Read(ctx, k, 0, 10)
	mail, err2 := l.Read(ctx, inbox, 0, 10)
	tail, err3 := l.Tail(ctx, k)
	seq, counted, err4 := l.LatestByAuthor(ctx, k, 5)
	highest, err5 := l.HighestCounter(ctx, 5, 6)
	records, err6 := l.FanoutRecords(ctx, k.Partition(), 0, 10)
	at, err7 := l.Checkpoint(ctx, k.Partition())
	byHash, err8 := l.TokenSeq(t.Context(), k, &timeline.Token{Sum: [16]byte{1, 2, 3}})
	expired, err9 := l.Tail(ctx, timeline.Key{Kind: timeline.Conversation, ID: 78})
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9} {
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	const first = uint64(1)<<32 + 1
	got := fmt.Sprintf("%v %v %+v %d %d %d %v %d %d %d %+v", entries, mail, tail, seq, counted, highest, records, at, byHash, l.Epoch(), expired)
	want := fmt.Sprintf("%v %v %+v %d %d %d %v %d %d %d %+v",
		[]timeline.Entry{{Seq: 1, Counted: 1, Payload: []byte("one")}, {Seq: 2, Counted: 1, Prev: 1, Payload: []byte("two")}, {Seq: 3, Counted: 2, Prev: 2, Payload: []byte("three")}},
		[]timeline.Entry{{Seq: first, Payload: []byte("mail")}, {Seq: first + 1, Prev: first, Payload: []byte("more")},
			{Seq: first + 2, Prev: first + 1, Payload: []byte("a")}, {Seq: first + 3, Prev: first + 2, Payload: []byte("bc")}},
		timeline.Tail{Seq: 3, Counted: 2, Access: 2}, 3, 2, 7,
		[]timeline.FanoutRecord{{Seq: 1, Refs: []timeline.Ref{{Key: k, From: 1, To: 1}}}, {Seq: 2, Refs: []timeline.Ref{{Key: k, From: 3, To: 3}}}}, 1, 3, 2,
		timeline.Tail{Seq: 3, Counted: 2, Access: 1, FirstSeq: 3})
	if got != want {
		t.Errorf("decoded\n%s, want\n%s", got, want)
	}
}

// Data of a newer format is rejected and not changed.
func TestNewerFormatIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open("log", pebbleOptions(Options{FS: fs, Logger: quietLog(), Fatal: func(text string) { panic(text) }}, func(int) { runtime.Gosched() }))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte("mformat"), []byte{2}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err := Open("log", Options{FS: fs}); err == nil {
		t.Error("a newer format was opened", l.Close())
	}
}

// References are decoded as they were encoded, joined to runs.
func TestRefsRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var entries []timeline.CommittedEntry
		at := map[timeline.Key]uint64{}
		for range rapid.IntRange(1, 40).Draw(r, "entries") {
			k := timeline.Key{Kind: timeline.Conversation, ID: rapid.Uint64().Draw(r, "id") >> rapid.IntRange(0, 63).Draw(r, "size")}
			if len(entries) > 0 && rapid.Bool().Draw(r, "same") {
				k = entries[len(entries)-1].Key
			}
			at[k] += uint64(rapid.IntRange(1, 2).Draw(r, "step"))
			entries = append(entries, timeline.CommittedEntry{Key: k, Seq: at[k]})
		}
		refs, err := decodeRefs(appendRuns(nil, entries))
		if err != nil {
			r.Fatal(err)
		}
		var got []timeline.CommittedEntry
		for i, ref := range refs {
			if i > 0 && refs[i-1].Key == ref.Key && refs[i-1].To+1 == ref.From {
				r.Fatalf("neighbours %v and %v are not joined", refs[i-1], ref)
			}
			for seq := ref.From; seq <= ref.To; seq++ {
				got = append(got, timeline.CommittedEntry{Key: ref.Key, Seq: seq})
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(entries) {
			r.Fatalf("wrote %v, read %v", entries, got)
		}
	})
}

// No stored bytes make a decoder panic, and accepted values are encoded to the same value.
func FuzzDecoders(f *testing.F) {
	for _, r := range goldenRows {
		b, err := hex.DecodeString(r.value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint64(1)<<32+1, b)
	}
	f.Add(uint64(0), []byte{encodingInboxRun, 1, 0})
	f.Add(uint64(2), []byte{encodingInboxRun, 2, 0, 0})
	f.Add(uint64(0), []byte{encodingInbox, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add(uint64(3), []byte{'c', 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 5})
	f.Fuzz(func(t *testing.T, seq uint64, b []byte) {
		if e, err := decodeEntry(seq, b); err == nil {
			var again []byte
			if b[0] == encodingConversation {
				again = appendEntry(nil, e.Counted, e.Payload)
			} else {
				again = appendPost(nil, e.Seq, e.Prev, e.Payload)
			}
			back, err := decodeEntry(seq, again)
			if err != nil || back.Seq != e.Seq || back.Prev != e.Prev || back.Counted != e.Counted || !bytes.Equal(back.Payload, e.Payload) {
				t.Errorf("%x was decoded as %+v, and after encoding as %+v, %v", b, e, back, err)
			}
		}
		if entries, err := decodeEntries(nil, seq, b); err == nil && b[0] == encodingInboxRun {
			posts := make([]timeline.Post, len(entries))
			for i, e := range entries {
				posts[i].Payload = e.Payload
			}
			back, err := decodeEntries(nil, seq, appendRun(nil, entries[0].Seq, entries[0].Prev, posts))
			if err != nil || fmt.Sprint(back) != fmt.Sprint(entries) || entries[len(entries)-1].Seq != seq {
				t.Errorf("%x was decoded as %v, and after encoding as %v, %v", b, entries, back, err)
			}
		}
		if refs, err := decodeRefs(b); err == nil {
			var again []byte
			for _, r := range refs {
				if r.To < r.From {
					t.Errorf("%x has the run %v", b, r)
				}
				again = appendRef(again, r)
			}
			back, err := decodeRefs(again)
			if err != nil || fmt.Sprint(back) != fmt.Sprint(refs) {
				t.Errorf("%x was decoded as %v, and after encoding as %v, %v", b, refs, back, err)
			}
		}
		var tail, back timeline.Tail
		if err := uvarints(b, &tail.Seq, &tail.Counted, &tail.Access); err == nil {
			if err := uvarints(appendTail(nil, &tail), &back.Seq, &back.Counted, &back.Access); err != nil || back != tail {
				t.Errorf("%x was decoded as %+v, and after encoding as %+v, %v", b, tail, back, err)
			}
		}
	})
}
