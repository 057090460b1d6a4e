// Package blobtest is the test suite that every blob.Store passes. A driver's own test calls Run.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// Run runs the suite, each test on an empty store.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for name, test := range map[string]func(t *testing.T, s blob.Store){
		"keys": keys, "lists": lists, "sizes": sizes, "ranges": ranges, "failures": failures, "parts": parts, "folders": folders, "concurrency": concurrency, "model": model, "multipart": multipart, "failed parts": failedParts, "aborted parts": abortedParts,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func put(t *testing.T, s blob.Store, key string, value []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, bytes.NewReader(value), int64(len(value))); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

// get returns the stored bytes; nil if there are none.
func get(t *testing.T, s blob.Store, key string) []byte {
	t.Helper()
	f, size, err := s.Open(t.Context(), key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	value, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || int64(len(value)) != size {
		t.Fatalf("%s: %d bytes of %d, %v", key, len(value), size, err)
	}
	if value == nil {
		value = []byte{}
	}
	return value
}

// has fails unless a key's value is want; nil for none.
func has(t *testing.T, s blob.Store, what, key string, want []byte) {
	t.Helper()
	if got := get(t, s, key); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		t.Errorf("%s: %s has %d bytes %.20q, not %d bytes %.20q", what, key, len(got), got, len(want), want)
	}
}

func keys(t *testing.T, s blob.Store) {
	for _, key := range []string{"a", "0", "-", "a/b", "media/42/1234567890123456789", "media/42/1234567890123456789-2", strings.Repeat("a/", 99) + "ab", strings.Repeat("k", 200)} {
		has(t, s, "before", key, nil)
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: a missing file: %v", key, err)
		}
		put(t, s, key+"", []byte(key))
		has(t, s, "after", key, []byte(key))
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		has(t, s, "deleted", key, nil)
	}
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/./b", ".part/put-1", "A", "a b", "a\x00", "a\\b", "a.b", "ä", "a%2fb", "~", strings.Repeat("k", 201)} {
		_, _, err := s.Open(t.Context(), key)
		for what, err := range map[string]error{"put": s.Put(t.Context(), key, strings.NewReader("x"), 1), "open": err, "delete": s.Delete(t.Context(), key)} {
			if !errors.Is(err, blob.ErrKey) {
				t.Errorf("%s %q: %v", what, key, err)
			}
		}
	}
}

func sizes(t *testing.T, s blob.Store) {
	for _, n := range []int{0, 1, 511, 32 << 10, 1<<20 + 1} {
		value := bytes.Repeat([]byte{byte(n), 0, 0xff}, n/3+1)[:n]
		put(t, s, "a", value)
		has(t, s, fmt.Sprint(n, " bytes"), "a", value)
		for what, r := range map[string]io.Reader{"one more": io.MultiReader(bytes.NewReader(value), strings.NewReader("x")), "in small parts": iotest.OneByteReader(io.MultiReader(bytes.NewReader(value[:min(n, 600)]), strings.NewReader("x")))} {
			if err := s.Put(t.Context(), "a", r, int64(min(n, 600))); n <= 600 && !errors.Is(err, blob.ErrSize) {
				t.Errorf("%d bytes, %s: %v", n, what, err)
			}
		}
		if err := s.Put(t.Context(), "a", bytes.NewReader(value), int64(n)+1); !errors.Is(err, blob.ErrSize) {
			t.Errorf("%d bytes, one missing: %v", n, err)
		}
		if err := s.Put(t.Context(), "a", bytes.NewReader(value), -1); !errors.Is(err, blob.ErrSize) {
			t.Errorf("%d bytes, a negative size: %v", n, err)
		}
		if n <= 600 {
			has(t, s, "after wrong sizes", "a", value)
		} else if err := s.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
}

// ranges are read by one request each, as far as the file goes. Both stores have them.
func ranges(t *testing.T, s blob.Store) {
	reader, ok := s.(blob.RangeReader)
	if !ok {
		t.Fatal("the store reads no ranges")
	}
	value := make([]byte, 100_000)
	for i := range value {
		value[i] = byte(i * i >> 3)
	}
	put(t, s, "a/b", value)
	for _, c := range [][2]int64{{0, 1}, {0, 100_000}, {0, 1 << 20}, {99_999, 1}, {99_999, 50}, {12_345, 6_789}, {50_000, 50_000}} {
		body, size, err := reader.ReadRange(t.Context(), "a/b", c[0], c[1])
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || size != 100_000 || !bytes.Equal(got, value[c[0]:min(c[0]+c[1], 100_000)]) {
			t.Errorf("%v: %d bytes of a file of %d, %v", c, len(got), size, err)
		}
	}
	if _, _, err := reader.ReadRange(t.Context(), "missing", 0, 10); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if _, _, err := reader.ReadRange(t.Context(), "../a", 0, 10); !errors.Is(err, blob.ErrKey) {
		t.Errorf("no key: %v", err)
	}
}

var errBroken = errors.New("the connection broke")

// failures leave an existing file unchanged, and store nothing under a new key.
func failures(t *testing.T, s blob.Store) {
	old := []byte("the old one")
	put(t, s, "old", old)
	for _, key := range []string{"old", "fresh/one"} {
		for what, r := range map[string]io.Reader{"immediately": iotest.ErrReader(errBroken), "in the middle": io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errBroken)),
			"at the end": io.MultiReader(strings.NewReader("12345678"), iotest.ErrReader(errBroken))} {
			if err := s.Put(t.Context(), key, r, 8); !errors.Is(err, errBroken) {
				t.Errorf("%s: %v", what, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		leaving := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
			cancel()
			return 0, nil
		}))
		if err := s.Put(ctx, key, leaving, 8); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancellation: %v", err)
		}
		cancel()
	}
	has(t, s, "after failures", "old", old)
	has(t, s, "after failures", "fresh/one", nil)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// parts reads parts of a file, in any order, concurrently.
func parts(t *testing.T, s blob.Store) {
	value := make([]byte, 100_000)
	for i := range value {
		value[i] = byte(i * 7)
	}
	put(t, s, "a", value)
	put(t, s, "b", []byte("another"))
	f, _, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		from := random.IntN(len(value))
		n := random.IntN(len(value) - from + 1)
		if at, err := f.Seek(int64(from), io.SeekStart); err != nil || at != int64(from) {
			t.Fatalf("%d, %v", at, err)
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, value[from:from+n]) {
			t.Fatalf("%d from %d: %v", n, from, err)
		}
		has(t, s, "meanwhile", "b", []byte("another"))
	}
	if end, err := f.Seek(0, io.SeekEnd); err != nil || end != int64(len(value)) {
		t.Errorf("the end is at %d, %v", end, err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

// folders: a key that begins with another and a slash is rejected or stored, and the other stays unchanged.
func folders(t *testing.T, s blob.Store) {
	for _, pair := range [][2]string{{"a", "a/b"}, {"c/d", "c"}} {
		put(t, s, pair[0], []byte("first"))
		err := s.Put(t.Context(), pair[1], strings.NewReader("second"), 6)
		want := []byte("second")
		if errors.Is(err, blob.ErrKey) {
			want = nil
		} else if err != nil {
			t.Errorf("%v: %v", pair, err)
		}
		has(t, s, "the first", pair[0], []byte("first"))
		has(t, s, "the second", pair[1], want)
		if err := s.Delete(t.Context(), pair[1]); err != nil {
			t.Errorf("%v: %v", pair, err)
		}
		has(t, s, "the first, after", pair[0], []byte("first"))
		has(t, s, "the second, after", pair[1], nil)
	}
}

// concurrency: readers see one complete value, and one of the written values remains.
func concurrency(t *testing.T, s blob.Store) {
	value := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n)}, 5000+n) }
	whole := func(got []byte) bool { return len(got) >= 5000 && bytes.Equal(got, value(len(got)-5000)) }
	put(t, s, "a", value(0))
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			for i := range 10 {
				v := value(n + i%3)
				if err := s.Put(t.Context(), "a", iotest.HalfReader(bytes.NewReader(v)), int64(len(v))); err != nil {
					t.Error(err)
				}
			}
		})
		wait.Go(func() {
			for range 40 {
				f, _, err := s.Open(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil || !whole(got) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	wait.Wait()
	if got := get(t, s, "a"); !whole(got) {
		t.Errorf("%d bytes remain, not one of the written values", len(got))
	}
}

// model compares the results of random operations with a map.
func model(t *testing.T, s blob.Store) {
	random := rand.New(rand.NewPCG(3, 4))
	want := map[string][]byte{}
	names := []string{"a", "b", "x/a", "x/b", "x/y/a", "z"}
	for range 300 {
		key := names[random.IntN(len(names))]
		value := bytes.Repeat([]byte{byte(random.IntN(256))}, random.IntN(3000))
		switch random.IntN(4) {
		case 0, 1:
			put(t, s, key, value)
			want[key] = value
		case 2:
			if err := s.Put(t.Context(), key, bytes.NewReader(value), int64(len(value))+1); !errors.Is(err, blob.ErrSize) {
				t.Fatal(err)
			}
		case 3:
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			delete(want, key)
		}
		has(t, s, "random", key, want[key])
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		has(t, s, "at the end", key, want[key])
	}
}
