package pebblelog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A corrupt row or file gives ErrCorrupt, not an error that asks for a retry.
func TestCorruptionIsReported(t *testing.T) {
	const size = 256 << 10
	payload := make([]byte, 3*size) // each entry has a block of its own, and does not compress
	rand.NewChaCha8([32]byte{}).Read(payload)
	for name, hurt := range map[string]func(t *testing.T, l *Log, k timeline.Key, fs vfs.FS) *Log{
		"row": func(t *testing.T, l *Log, k timeline.Key, _ vfs.FS) *Log {
			if err := l.db.Set(entryKey(nil, k, 2), []byte{9, 9}, pebble.Sync); err != nil {
				t.Fatal(err)
			}
			return l
		},
		"file": func(t *testing.T, l *Log, _ timeline.Key, fs vfs.FS) *Log {
			if err := errors.Join(l.db.Flush(), l.Close()); err != nil {
				t.Fatal(err)
			}
			flip(t, fs, payload[size+1000:size+1100])
			l, err := Open("log", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, fs := context.Background(), vfs.NewMem()
			l, err := Open("log", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			k := timeline.Key{Kind: timeline.Conversation, ID: 1}
			for n := range 3 {
				done := make(chan error, 1)
				l.Append(&timeline.AppendRequest{Key: k, Payload: payload[n*size:][:size], Done: func(a *timeline.AppendRequest) { done <- a.Err }})
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			l = hurt(t, l, k, fs)
			if _, err := l.Get(ctx, []timeline.Ref{{Key: k, From: 2, To: 2}}); !errors.Is(err, timeline.ErrCorrupt) {
				t.Errorf("Get returned %v", err)
			}
			if found, err := l.Get(ctx, []timeline.Ref{{Key: k, From: 1, To: 1}, {Key: k, From: 2, To: 3}}); !errors.Is(err, timeline.ErrCorrupt) {
				t.Errorf("Get of intact entries around it returned %d entries, %v", len(found), err)
			}
			if _, err := l.Read(ctx, k, 0, 10); !errors.Is(err, timeline.ErrCorrupt) {
				t.Errorf("Read returned %v", err)
			}
			if _, err := l.ReadBackward(ctx, k, 0, 10); !errors.Is(err, timeline.ErrCorrupt) {
				t.Errorf("ReadBackward returned %v", err)
			}
			_ = l.Close()
		})
	}
}

// A corrupt block costs Pebble's search for a flipped bit once: at later reads, of whatever kind, the block is refused before. Intact
// blocks of the same file are read, as before.
func TestACorruptBlockIsSearchedOnce(t *testing.T) {
	const size = 64 << 10
	payload := make([]byte, 3*size) // each entry is in a block of its own, uncompressed
	rand.NewChaCha8([32]byte{}).Read(payload)
	ctx, fs, k := context.Background(), vfs.NewMem(), timeline.Key{Kind: timeline.Conversation, ID: 1}
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		done := make(chan error, 1)
		l.Append(&timeline.AppendRequest{Key: k, Payload: payload[n*size:][:size], Done: func(a *timeline.AppendRequest) { done <- a.Err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.db.Flush(), l.Close()); err != nil {
		t.Fatal(err)
	}
	flip(t, fs, payload[size+100:size+200])
	if l, err = Open("log", Options{FS: fs}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	searched := 0
	for n := range 5 {
		_, get := l.Get(ctx, []timeline.Ref{{Key: k, From: 2, To: 2}})
		_, read := l.Read(ctx, k, 0, 10)
		_, backward := l.ReadBackward(ctx, k, 0, 10)
		for _, err := range []error{get, read, backward} {
			if !errors.Is(err, timeline.ErrCorrupt) {
				t.Fatalf("round %d: got %v, want ErrCorrupt", n, err)
			}
			if strings.Contains(err.Error(), "crc32c checksum mismatch") {
				searched++
			}
		}
		for _, seq := range []uint64{1, 3} {
			e, err := l.Get(ctx, []timeline.Ref{{Key: k, From: seq, To: seq}})
			if err != nil || len(e) != 1 || !bytes.Equal(e[0].Payload, payload[(seq-1)*size:][:size]) {
				t.Errorf("round %d: entry %d: got %d entries, %v", n, seq, len(e), err)
			}
		}
	}
	if searched != 1 {
		t.Errorf("Pebble found the corrupt block %d times in 15 reads, want 1", searched)
	}
}

// flip changes a bit of some bytes in the table file that contains them.
func flip(t *testing.T, fs vfs.FS, of []byte) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		f, err := fs.Open(path.Join("log", n))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(b, of)
		if at < 0 || !strings.HasSuffix(n, ".sst") {
			continue
		}
		b[at] ^= 4
		out, err := fs.Create(path.Join("log", n), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		_, err = out.Write(b)
		if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no file contains the bytes")
}
