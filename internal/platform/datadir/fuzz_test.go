package datadir

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"testing"
)

// A slot without the right checksum is none, and one with it has what was written.
func FuzzSlot(f *testing.F) {
	f.Add(uint64(2), []byte(`{"id":"00","state":"creating"}`), 5)
	f.Add(uint64(1)<<63, []byte(nil), 300)
	f.Fuzz(func(t *testing.T, generation uint64, body []byte, at int) {
		b := make([]byte, 0, sector)
		b = fmt.Appendf(b, "         %-20d", generation)
		b = append(b, body...)
		if len(b) >= sector {
			return
		}
		b = append(append(b, bytes.Repeat([]byte{' '}, sector-1-len(b))...), '\n')
		hex.Encode(b, binary.BigEndian.AppendUint32(nil, crc32.Checksum(b[9:], castagnoli)))
		b[8] = ' '
		if n, got, ok := parseSlot(b); !ok || n != generation || !bytes.Equal(got, bytes.TrimSpace(body)) {
			t.Errorf("%q was read as %d, %q, %v", b, n, got, ok)
		}
		b[uint(at)%sector] ^= 1
		if n, got, ok := parseSlot(b); ok {
			t.Errorf("the damaged %q was read as %d, %q", b, n, got)
		}
		parseSlot(append(body, make([]byte, sector)...)[:sector])
	})
}
