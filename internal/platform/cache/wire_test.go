package cache

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"testing"

	"context"

	"github.com/rialto-im/rialto/internal/base/clock"
)

func wireCache(t testing.TB) *Cache[uint64, string] {
	t.Helper()
	c, err := New(Deps{Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics()}, Config[uint64, string]{Name: "texts",
		Load:   func(context.Context, []uint64, bool) (map[uint64]string, error) { return nil, nil },
		Encode: func(v string) ([]byte, error) { return []byte(v), nil },
		Decode: func(b []byte) (string, error) { return string(b), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Copies of other releases can be read (docs/formats/cache.md).
func TestGoldenCopies(t *testing.T) {
	c := wireCache(t)
	for text, want := range map[string]entry[string]{
		"010105e084a4f8cc33e0bfbda1cd3368656c6c6f": {value: "hello", found: true, freshUntil: 1773000000096, keptTill: 1773086400480},
		"010005e084a4f8cc33e084a4f8cc33":           {freshUntil: 1773000000096, keptTill: 1773000000096},
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.decode(b, 5); !ok || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, ok, want)
		}
		if got, err := c.encode(want, 5); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%+v: got %x, %v, want %s", want, got, err, text)
		}
		if _, ok := c.decode(b, 6); ok {
			t.Errorf("%s is a copy of another generation", text)
		}
		if _, ok := c.decode(append([]byte{2}, b[1:]...), 5); ok {
			t.Errorf("%s is a copy in another form", text)
		}
	}
}

// Whatever the server returns, it is read or loaded again.
func FuzzDecode(f *testing.F) {
	c := wireCache(f)
	for _, e := range []entry[string]{{value: "hello", found: true, freshUntil: 1, keptTill: 2}, {freshUntil: 3, keptTill: 3}} {
		b, err := c.encode(e, 1)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := c.decode(b, 1)
		if !ok {
			return
		}
		again, err := c.encode(e, 1)
		if back, same := c.decode(again, 1); err != nil || !same || back != e {
			t.Errorf("%x is %+v, and then %+v, %v", b, e, back, err)
		}
	})
}
