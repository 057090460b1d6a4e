package app

import (
	"testing"
)

// FuzzAcceptEncoding: whatever a client sends, an encoding that it refuses at the end is not chosen, and one that it names there is. What is not named is
// chosen by * only.
func FuzzAcceptEncoding(f *testing.F) {
	for _, header := range []string{"", "gzip, br;q=0.5", "*;q=0", "GZIP ; Q=1.0", "gzip;q=nan", "br;q=1;q=0", ",,;;==", "identity;q=1e999", "*", "\x00"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		accepts := func(headers ...string) bool { return acceptedEncodings(headers)("br") }
		if accepts(header, "br;q=0") {
			t.Errorf("%q: br is refused, and chosen", header)
		}
		if !accepts(header, "br") || !accepts(header, "br ; Q=0.001") {
			t.Errorf("%q: br is named, and not chosen", header)
		}
		if acceptedEncodings([]string{header, "*;q=0"})("an encoding that nobody names") {
			t.Errorf("%q: what nobody names is chosen", header)
		}
	})
}
