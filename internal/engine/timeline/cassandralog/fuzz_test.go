package cassandralog

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// FuzzRefs: decoded references are encoded to bytes that decode to the same ones, and invalid bytes are reported as corrupt.
func FuzzRefs(f *testing.F) {
	f.Add([]byte(nil))
	f.Add((&ref{timeline.Key{Kind: timeline.Conversation, ID: 150}, 2, 3, 300}).append(nil))
	f.Add((&ref{timeline.Key{Kind: timeline.Inbox, ID: 1<<64 - 1}, 1<<64 - 1, 1<<64 - 1, 1<<64 - 2}).append(nil))
	f.Add([]byte{'c', 0x80, 0, 0, 0, 0})
	f.Add([]byte{'c', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		refs, err := decodeRefs(b)
		if err != nil {
			if refs != nil {
				t.Fatalf("decode %x: got an error and references %+v", b, refs)
			}
			return
		}
		if len(refs) > len(b)/5 {
			t.Fatalf("decode %d bytes: got %d references", len(b), len(refs))
		}
		var again []byte
		for _, r := range refs {
			again = r.append(again)
		}
		if got, err := decodeRefs(again); err != nil || !slices.Equal(got, refs) {
			t.Fatalf("encode and decode %+v: got %+v (%v)", refs, got, err)
		}
	})
}

// FuzzTokens: tokens have the same stored bytes only if they are equal to a log, and counters can be decoded.
func FuzzTokens(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(3), []byte(nil), []byte{tokenCounter})
	f.Add(uint64(1)<<63, uint64(0), uint64(0), []byte("0123456789abcdef"), tokenBytes(&timeline.Token{Sender: 1, Device: 2, Counter: 3}))
	f.Fuzz(func(t *testing.T, sender, dev, counter uint64, sum, stored []byte) {
		token := timeline.Token{Sender: sender, Device: dev, Counter: counter}
		copy(token.Sum[:], sum)
		d, n, ok := counterOf(tokenBytes(&token))
		if ok != (counter != 0) || ok && (d != device{sender, dev} || n != counter) {
			t.Fatalf("encode and decode %+v: got %+v, %d, %v", token, d, n, ok)
		}
		if d, n, ok := counterOf(stored); ok && !slices.Equal(tokenBytes(&timeline.Token{Sender: d.sender, Device: d.device, Counter: n}), stored) {
			t.Fatalf("decode %x: got %+v, %d", stored, d, n)
		}
	})
}
