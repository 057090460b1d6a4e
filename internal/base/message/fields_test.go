package message_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
)

// TestFields: what was written is read, in order. Where the bytes end early, that field and all behind it are zero, and the fields are bad.
func TestFields(t *testing.T) {
	b := binary.BigEndian.AppendUint64([]byte{7}, 1<<40)
	b = append(binary.AppendUvarint(b, 300), 2, 'h', 'i', 1, 5)
	read := func(b []byte) (got []uint64, f message.Fields) {
		f = message.FieldsOf(b)
		got = append(got, uint64(f.Byte()), f.Uint64(), f.Uvarint())
		if text := f.Bytes(); string(text) == "hi" {
			got = append(got, 2)
		} else {
			got = append(got, 0)
		}
		return append(got, f.Count(), uint64(f.Byte())), f
	}
	want := []uint64{7, 1 << 40, 300, 2, 1, 5}
	if got, f := read(b); !slices.Equal(got, want) || f.Bad() || len(f.Rest()) > 0 {
		t.Errorf("read %v, bad %v, rest %v; want %v", got, f.Bad(), f.Rest(), want)
	}
	for n := range b {
		got, f := read(b[:n])
		whole := 0
		for whole < len(got) && got[whole] == want[whole] {
			whole++
		}
		if !f.Bad() || len(f.Rest()) > 0 || slices.ContainsFunc(got[whole:], func(v uint64) bool { return v != 0 }) {
			t.Errorf("of %d bytes: read %v, bad %v, rest %v", n, got, f.Bad(), f.Rest())
		}
	}
	if f := message.FieldsOf([]byte{3, 0, 0}); f.Count() != 0 || !f.Bad() {
		t.Error("three elements in two bytes are no fault")
	}
}
