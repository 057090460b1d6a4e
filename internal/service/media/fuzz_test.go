package media_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
)

// FuzzSignedURLs: a signed URL is valid for its verb, its upload and its time. A changed one is rejected.
func FuzzSignedURLs(f *testing.F) {
	clock := &manualClock{}
	clock.ms.Store(1_800_000_000_000)
	s := media.Signer([]byte("of URLs"), clock, "")
	f.Add(uint64(1), int64(1_800_000_001), uint16(0), uint16(0), "")
	f.Add(uint64(1), int64(1_800_000_001), uint16(10), uint16(0), "0")
	f.Add(uint64(1), int64(1_799_999_999), uint16(17), uint16(1), "9")
	f.Add(uint64(11), int64(1_800_000_001), uint16(12), uint16(5), "%20")
	f.Add(uint64(1)<<63-1, int64(1)<<62, uint16(200), uint16(0), "&exp=1&sig=x")
	f.Add(uint64(1)<<63, int64(-1), uint16(11), uint16(0), "\x00")
	f.Fuzz(func(t *testing.T, n uint64, exp int64, at, cut uint16, put string) {
		made := s.Sign("get", id.Upload(n), time.Unix(exp, 0))
		read := func(text string) (id.Upload, string, error) {
			u, err := url.Parse(text)
			if err != nil {
				return 0, "", err
			}
			r := &http.Request{Method: http.MethodGet, URL: u}
			r.SetPathValue("upload", strings.TrimPrefix(u.Path, "/v1/media/"))
			return s.Signed(r, "get", "avatar")
		}
		good := n < 1<<63 && exp > clock.Now().Unix()
		if got, verb, err := read(made); (err == nil) != good || good && (got != id.Upload(n) || verb != "get") {
			t.Errorf("%s is read as upload %d, verb %q (%v)", made, got, verb, err)
		}
		r, err := http.NewRequest(http.MethodPut, made, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetPathValue("upload", id.Upload(n).String())
		if _, _, err := s.Signed(r, "put"); err == nil {
			t.Errorf("%s permits writing", made)
		}
		from := min(int(at), len(made))
		for _, text := range []string{made[:from] + put + made[min(from+int(cut), len(made)):], put} {
			// It may contain more than was signed, such as a fragment or another parameter, but not another upload or expiry.
			if got, verb, err := read(text); err == nil && (!good || got != id.Upload(n) || verb != "get") {
				t.Errorf("%q permits upload %d, verb %q; the signed URL was %s", text, got, verb, made)
			}
		}
	})
}
