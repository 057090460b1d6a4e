package blockcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// answer of a handler.
func answer(t *testing.T, handler http.Handler, method string, header http.Header) string {
	t.Helper()
	r := httptest.NewRequest(method, "/f", nil)
	r.Header = header.Clone()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, " ", w.Result().Header, " ", w.Body.String())
}

// anyRange returns a random value of the header Range: valid, beyond the end, or none.
func anyRange(r *rand.Rand, size int) string {
	number := func() int {
		switch r.IntN(5) {
		case 0:
			return r.IntN(3)
		case 1:
			return size - 1 + r.IntN(3)
		case 2:
			return (r.IntN(size/(64<<10)+1))*(64<<10) + r.IntN(3) - 1
		}
		return r.IntN(size + size/4 + 1)
	}
	one := func() string {
		switch r.IntN(12) {
		case 0:
			return fmt.Sprintf("-%d", number())
		case 1:
			return fmt.Sprintf("%d-", max(number(), 0))
		case 2:
			return []string{"", "-", "a-b", "5-4", "0x1-2", " 1-2 ", "--1", "1--2", "99999999999999999999-"}[r.IntN(9)]
		}
		from := max(number(), 0)
		return fmt.Sprintf("%d-%d", from, from+r.IntN(1+r.IntN(200_000)))
	}
	list := make([]string, 1+r.IntN(2)*r.IntN(6))
	for i := range list {
		list[i] = one()
	}
	return []string{"bytes=", "bytes=", "bytes=", "bytes=", "bytes =", "items=", "Bytes="}[r.IntN(7)] + strings.Join(list, ",")
}

// TestAnswersAreThoseOfServeContent: random requests are answered exactly as http.ServeContent answers them with the file itself.
func TestAnswersAreThoseOfServeContent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := open(t, blockcache.Config{MaxBytes: 3 << 20}) // some blocks give way
	for _, size := range []int{1, 1000, 64 << 10, 200_000, mib + 4321} {
		o := newOrigin(size)
		headers := func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"7"`)
			w.Header().Set("Content-Type", "video/mp4")
		}
		cached := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			headers(w)
			reader := c.NewReader(req.Context(), o.file(fmt.Sprint(size)), o.read)
			defer reader.Close()
			if err := blockcache.ServeContent(w, req, modified, reader); err != nil {
				t.Error(err)
			}
		})
		plain := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			headers(w)
			byterange.LimitToOne(req)
			http.ServeContent(w, req, "", modified, bytes.NewReader(o.data))
		})
		statuses := map[string]int{}
		for range 300 {
			h := http.Header{}
			if r.IntN(8) > 0 {
				h.Set("Range", anyRange(r, size))
			}
			for name, values := range map[string][]string{"If-Range": {`"7"`, `"8"`, modified.Format(http.TimeFormat), modified.Add(time.Hour).Format(http.TimeFormat)}, "If-None-Match": {`"7"`, `"8"`, "*"},
				"If-Match": {`"7"`, `"8"`}, "If-Modified-Since": {modified.Format(http.TimeFormat)}, "If-Unmodified-Since": {modified.Add(-time.Hour).Format(http.TimeFormat)}} {
				if r.IntN(10) == 0 {
					h.Set(name, values[r.IntN(len(values))])
				}
			}
			method := []string{http.MethodGet, http.MethodGet, http.MethodGet, http.MethodHead}[r.IntN(4)]
			got, want := answer(t, cached, method, h), answer(t, plain, method, h)
			if got != want {
				t.Fatalf("%s of %d bytes with %v is answered with\n%.500s\nand not\n%.500s", method, size, h, got, want)
			}
			statuses[want[:3]]++
		}
		if statuses["200"] == 0 || statuses["206"] == 0 || statuses["416"] == 0 || statuses["304"] == 0 || statuses["412"] == 0 {
			t.Errorf("the statuses are %v", statuses)
		}
	}
}

// TestSeveralRangesAreAnsweredWithTheFile, and a file without its first bytes by an error.
func TestSeveralRangesAreAnsweredWithTheFile(t *testing.T) {
	c, o := open(t, blockcache.Config{}), newOrigin(1000)
	var failure error
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		reader := c.NewReader(req.Context(), o.file("g"), o.read)
		defer reader.Close()
		if failure = blockcache.ServeContent(w, req, modified, reader); failure != nil {
			errs.WriteHTTP(w, failure)
		}
	})
	ask := func(header string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/f", nil)
		r.Header.Set("Range", header)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	dying := error(errs.New(errs.Unavailable, "storage", "it dies"))
	o.fail.Store(&dying)
	if w := ask("bytes=5-6"); w.Code != http.StatusServiceUnavailable || !errors.Is(failure, dying) {
		t.Errorf("a file whose origin fails is answered with %d, %v", w.Code, failure)
	}
	o.fail.Store(nil)
	if w := ask("bytes=1-1"); w.Code != http.StatusPartialContent {
		t.Errorf("one range is answered with %d", w.Code)
	}
	if w := ask("bytes=1-1,3-3"); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), o.data) {
		t.Errorf("2 ranges are answered with %d and %d bytes", w.Code, w.Body.Len())
	}
}
