package tracing_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/tracing"
)

// FuzzParents: of a caller's traceparent, the trace and the span are those that the header names, or nothing is.
func FuzzParents(f *testing.F) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, text := range []string{"", good, good + "-x", "01" + good[2:] + "-more", "ff" + good[2:], "00-" + strings.Repeat("0", 32) + good[35:], strings.ToUpper(good), good[:54], strings.Repeat("a", 300), "00-\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := tracing.ReadParent(text)
		if !got.IsValid() {
			return
		}
		if len(text) < len(good) || text[3:35] != got.TraceID().String() || text[36:52] != got.SpanID().String() {
			t.Errorf("%q is trace %s, span %s", text, got.TraceID(), got.SpanID())
		}
	})
}
