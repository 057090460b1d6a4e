package byterange_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
)

// TestParseContent reads what http.ServeContent answers to Header, and refuses all that is no range of a file with a size.
func TestParseContent(t *testing.T) {
	for _, c := range []struct{ offset, length, size int64 }{{0, 1, 1}, {0, 5, 100}, {95, 5, 100}, {99, 1, 100}, {7, 1000, 100}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Range", byterange.Header(c.offset, c.length))
		w := httptest.NewRecorder()
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("a", int(c.size))))
		want := byterange.Content{From: c.offset, Length: min(c.length, c.size-c.offset), Size: c.size}
		if got, err := byterange.ParseContent(w.Header().Get("Content-Range")); err != nil || got != want || got.Length != int64(w.Body.Len()) {
			t.Errorf("%v is answered with %v, %v and %d bytes", c, got, err, w.Body.Len())
		}
	}
	for _, bad := range []string{"", "bytes", "bytes 0-9", "bytes 0-9/*", "bytes */10", "bytes 5-4/10", "bytes 0-10/10", "bytes -1-5/10", "bytes +1-5/10", "items 0-9/10", "bytes 0-9/10 ", "bytes 0-9/10/20",
		"bytes 0-9223372036854775807/9223372036854775807", "bytes 0-18446744073709551616/9", "0-9/10"} {
		if got, err := byterange.ParseContent(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// TestLimitToOne: one range is kept, several are not.
func TestLimitToOne(t *testing.T) {
	for header, want := range map[string]string{"": "", "bytes=1-2": "bytes=1-2", "bytes=-5": "bytes=-5", "bytes=1-2,3-4": "", "bytes=1-1, 1-1": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Range", header)
		if byterange.LimitToOne(r); r.Header.Get("Range") != want {
			t.Errorf("%q becomes %q", header, r.Header.Get("Range"))
		}
	}
}

func TestFirstByte(t *testing.T) {
	for header, want := range map[string]int64{"": 0, "bytes=7-9": 7, "bytes=7-": 7, "bytes=-3": 97, "bytes=-300": 0, "bytes=100-": 0, "bytes=x-": 0, "bytes=--3": 0, "items=7-9": 0} {
		if got := byterange.FirstByte(header, 100); got != want {
			t.Errorf("%q begins at %d, not %d", header, got, want)
		}
	}
}
