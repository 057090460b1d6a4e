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
	"github.com/rialto-im/rialto/internal/timeline"
)

// What is damaged, a row or a file, is told from what is away: it does not help to try again.
func TestDamageIsTold(t *testing.T) {
	const size = 256 << 10
	payload := make([]byte, 3*size) // each entry is in a block of its own, and as it is: it does not get smaller
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
				l.Append(&timeline.Append{Key: k, Payload: payload[n*size:][:size], Done: func(a *timeline.Append) { done <- a.Err }})
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			l = hurt(t, l, k, fs)
			if _, err := l.Get(ctx, []timeline.Ref{{Key: k, From: 2, To: 2}}); !errors.Is(err, timeline.ErrDamaged) {
				t.Errorf("Get gives %v", err)
			}
			if _, err := l.Read(ctx, k, 0, 10); !errors.Is(err, timeline.ErrDamaged) {
				t.Errorf("Read gives %v", err)
			}
			if _, err := l.ReadBack(ctx, k, 0, 10); !errors.Is(err, timeline.ErrDamaged) {
				t.Errorf("ReadBack gives %v", err)
			}
			_ = l.Close()
		})
	}
}

// flip changes a bit of some bytes, in whichever table's file they are.
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
	t.Fatal("no file has it")
}
