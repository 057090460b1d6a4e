package apptest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/tool/bench"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// benchedFeed is a part of the result of rialto bench feed.
type benchedFeed struct {
	Posts, Pages, Hints, Repeats, Gaps, Timelines, Profiles, Retries uint64
	Wrong                                                            uint64 `json:"wrong_pages"`
	CounterErrors                                                    uint64 `json:"counter_errors"`
}

// benchFeed loads a small feed at an address.
func benchFeed(t *testing.T, address string, flags ...string) (r benchedFeed, code int, text string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = bench.Main(append([]string{"feed", "--json", "--url", address, "--authors", "4", "--followers", "4", "--following", "3", "--posts", "3", "--limit", "4", "--duration", "1s"}, flags...), &out, &errOut)
	text = out.String() + errOut.String()
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("the result of rialto bench is not JSON: %v\n%s", err, text)
		}
	}
	return r, code, text
}

// changedAnswers returns the address of a proxy that changes each third answer of a method that a function changes.
func changedAnswers[T any, M interface {
	*T
	proto.Message
}](t *testing.T, to, method string, change func(M) bool) string {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		if strings.HasSuffix(r.Out.URL.Path, method) {
			r.Out.Header.Del("Accept-Encoding")
		}
	}, ModifyResponse: func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, method) || r.StatusCode != http.StatusOK {
			return nil
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		m := M(new(T))
		if err := proto.Unmarshal(b, m); err != nil {
			return err
		}
		if change(m) && count.Add(1)%3 == 0 {
			if b, err = proto.Marshal(m); err != nil {
				return err
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Header.Del("Content-Length")
		return nil
	}}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// The bench reads right pages from a right server, and finds what a wrong one drops, repeats, reorders or counts wrongly.
func TestBenchOfAFeed(t *testing.T) {
	t.Parallel()
	s := apptest.Open(t, nil)
	page := func(change func(m *feedv1.HomeTimelineResponse)) string {
		return changedAnswers(t, s.URL, "/HomeTimeline", func(m *feedv1.HomeTimelineResponse) bool {
			if len(m.Posts) < 3 {
				return false
			}
			change(m)
			return true
		})
	}
	for name, c := range map[string]struct {
		address string
		wrong   func(r benchedFeed) bool
	}{
		"right":     {s.URL, func(r benchedFeed) bool { return r.Hints == 0 || r.Wrong+r.Repeats+r.Gaps+r.CounterErrors > 0 }},
		"dropped":   {page(func(m *feedv1.HomeTimelineResponse) { m.Posts = append(m.Posts[:1], m.Posts[2:]...) }), func(r benchedFeed) bool { return r.Gaps == 0 || r.Repeats > 0 }},
		"repeated":  {page(func(m *feedv1.HomeTimelineResponse) { m.Posts[2] = m.Posts[1] }), func(r benchedFeed) bool { return r.Repeats == 0 }},
		"reordered": {page(func(m *feedv1.HomeTimelineResponse) { m.Posts[0], m.Posts[1] = m.Posts[1], m.Posts[0] }), func(r benchedFeed) bool { return r.Wrong == 0 || r.Gaps+r.Repeats > 0 }},
		"counts":    {changedAnswers(t, s.URL, "/GetFeedProfile", func(m *feedv1.FeedProfile) bool { m.Posts++; return true }), func(r benchedFeed) bool { return r.CounterErrors == 0 || r.Wrong > 0 }},
	} {
		r, code, text := benchFeed(t, c.address)
		if c.wrong(r) || r.Pages == 0 || r.Posts == 0 || r.Timelines != 4 || r.Profiles != 8 || (code == 0) != (name == "right") {
			t.Errorf("%s: exit code %d\n%s", name, code, text)
		}
		if name != "right" && name != "counts" && !strings.Contains(text, " is wrong: ") {
			t.Errorf("%s: no wrong page is described\n%s", name, text)
		}
	}
}

// The load goes on when its connections are reset, and every page is right. It ends if no server comes back.
func TestBenchOfAFeedOverBrokenConnections(t *testing.T) {
	t.Parallel()
	s := apptest.Open(t, nil)
	b, address := newBreaker(t, s.URL, 6_000, 6)
	b.breakCalls()
	var retries uint64
	for b.count() < b.most {
		r, code, text := benchFeed(t, address)
		if code != 0 || r.Pages == 0 {
			t.Fatalf("%d broken connections, exit code %d\n%s", b.count(), code, text)
		}
		retries += r.Retries
	}
	if retries == 0 {
		t.Error("no call was repeated")
	}
	last, gone := newBreaker(t, s.URL, 10_000, -1)
	last.breakCalls()
	_, code, text := benchFeed(t, gone, "--patience", "1s", "--duration", "10m")
	// On a busy machine the bytes, or the patience, may end while the followers still connect.
	if code != 1 || !strings.Contains(text, "no server has answered a call for") && !strings.Contains(text, "could connect within --patience") {
		t.Errorf("without a server: exit code %d\n%s", code, text)
	}
}
