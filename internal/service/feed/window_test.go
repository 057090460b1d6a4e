package feed

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// TestGoldenWindow: docs/formats/feed.md describes these entries.
func TestGoldenWindow(t *testing.T) {
	b := base{changes: 3, from: 300, floor: 1000, refs: []ref{{1 << 60, 7}, {1001, 300}, {1000, 7}}}
	const golden = "0303ac02e807ffffffffffffffff6f0797f8ffffffffffff0fac020107"
	if got := hex.EncodeToString(b.append(nil)); got != golden {
		t.Errorf("a base is encoded as %s, want %s", got, golden)
	}
	stored, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeBase(stored[1:])
	if err != nil || got.changes != b.changes || got.from != b.from || got.floor != b.floor || !slices.Equal(got.refs, b.refs) {
		t.Errorf("a base is decoded as %+v, %v, want %+v", got, err, b)
	}
	if got := hex.EncodeToString(ref{1001, 300}.appendPush(nil)); got != "02e907ac02" {
		t.Errorf("a push is encoded as %s", got)
	}
	if r, err := decodePush([]byte{0xe9, 0x07, 0xac, 0x02}); err != nil || r != (ref{1001, 300}) {
		t.Errorf("a push is decoded as %+v, %v", r, err)
	}
}

// TestBadEntriesAreCorrupt: no entry is decoded into something else.
func TestBadEntriesAreCorrupt(t *testing.T) {
	whole := (&base{changes: 3, from: 300, floor: 1000, refs: []ref{{1 << 60, 300}}}).append(nil)[1:]
	for n := range whole {
		if b, err := decodeBase(whole[:n]); !errors.Is(err, timeline.ErrCorrupt) && (n < 5 || len(b.refs) > 0) {
			t.Errorf("%d of %d bytes of a base: %+v, %v", n, len(whole), b, err)
		}
	}
	rising := (&base{refs: []ref{{5, 1}}}).append(nil)[1:]
	rising = append(rising, 6, 1) // six below five
	for _, b := range [][]byte{rising, {0xff}} {
		if got, err := decodeBase(b); !errors.Is(err, timeline.ErrCorrupt) {
			t.Errorf("%x is decoded as %+v, %v", b, got, err)
		}
	}
	for _, b := range [][]byte{{}, {1}, {1, 0x80}, {1, 1, 1}} {
		if got, err := decodePush(b); !errors.Is(err, timeline.ErrCorrupt) {
			t.Errorf("the push %x is decoded as %+v, %v", b, got, err)
		}
	}
}
