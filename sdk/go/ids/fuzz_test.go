package ids_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

// A text is refused, or is an id in its own spelling, except for the case of letters.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"BD8U-FCQJ-LDC5-L789", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "0192f5c0-5b3c-7def-8123-456789abcdef", "0192F5C0-5B3C-7DEF-8123-456789ABCDEF", "", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ids.ParseReadable(text); err == nil && m.String() != text {
			t.Errorf("%q was read as %v", text, m)
		}
		if v, p, err := ids.ParseULID(text); err == nil && (v.String() != strings.ToUpper(text) || p.Time.UnixMilli() < 0) {
			t.Errorf("%q was read as %v, of %v", text, v, p.Time)
		}
		if v, err := ids.ParseUUID(text); err == nil && v.String() != strings.ToLower(text) {
			t.Errorf("%q was read as %v", text, v)
		}
		if v, p, err := ids.ParseUUIDv7(text); err == nil && (v.String() != strings.ToLower(text) || p.Time.UnixMilli() < 0) {
			t.Errorf("%q was read as %v, of %v", text, v, p.Time)
		}
	})
}
