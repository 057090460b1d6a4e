package ranking

import (
	"bytes"
	"testing"
)

// What a token or a row has is refused, or read as it would be written again.
func FuzzStored(f *testing.F) {
	f.Add(encodeRest([]entry{{258, 0x51}, {1<<63 - 1, 3}}))
	f.Add(encodeFeatures(make([]float64, rowFeatures)))
	f.Add([]byte{tokenVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		if rest, ok := decodeRest(b); ok && !bytes.Equal(encodeRest(rest), b) {
			t.Errorf("the token %x was read as %v", b, rest)
		}
		if row, ok := decodeFeatures(b); ok {
			list := make([]float64, len(row))
			for i, x := range row {
				if list[i] = float64(x); x != x {
					return // a NaN has many forms
				}
			}
			if !bytes.Equal(encodeFeatures(list), b) {
				t.Errorf("the features %x were read as %v", b, row)
			}
		}
	})
}
