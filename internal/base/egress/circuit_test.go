package egress_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
)

// answering is a server that answers as the path says.
func answering(t *testing.T) (server *httptest.Server, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone, or sent another body than it said
		}
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		case "/404":
			w.WriteHeader(http.StatusNotFound)
		case "/429":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/odd": // each second request fails
			if n%2 == 1 {
				w.WriteHeader(http.StatusBadGateway)
			}
		case "/break":
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("half")) // then the connection breaks
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body) // an answer without a body fails
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// refusedAfter makes calls until one is refused, or 100, and returns how many were made.
func refusedAfter(t *testing.T, call func() error) int {
	t.Helper()
	for n := range 100 {
		if outgoing.IsRefused(call()) {
			return n
		}
	}
	return 100
}

func client(t *testing.T, url string, kind outgoing.Kind) *egress.Client {
	t.Helper()
	c, err := egress.New(egress.Config{URL: url, Kind: kind, Calls: outgoingtest.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func post(t *testing.T, c *egress.Client, to string, check func(*egress.Answer) error) (*egress.Answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(r, check)
}

// Servers whose answers are errors of theirs, break off or are not valid are not called after ten of them; those that refuse requests are.
func TestWhichAnswersOpenTheCircuit(t *testing.T) {
	server, _ := answering(t)
	invalid := func(*egress.Answer) error { return errors.New("it is not valid") }
	for path, want := range map[string]int{"/500": 10, "/break": 10, "/404": 100, "/429": 1, "/": 100, "/invalid": 10} {
		c := client(t, server.URL+path, outgoing.EventWebhook)
		check := func(*egress.Answer) error { return nil }
		if path == "/invalid" {
			check = invalid
		}
		if n := refusedAfter(t, func() error { _, err := post(t, c, server.URL+path, check); return err }); n != want {
			t.Errorf("%s: calls are refused after %d, want %d", path, n, want)
		}
	}
}

// Each kind of calls by HTTP has a circuit, which ten requests that fail open, whether they are retries or not. Retries are within the budget of the destination.
func TestEachKindHasACircuitAndABudget(t *testing.T) {
	for _, kind := range outgoing.Kinds() {
		if kind == outgoing.SMTP { // no HTTP
			continue
		}
		server, requests := answering(t)
		c := client(t, server.URL+"/break", kind)
		calls := refusedAfter(t, func() error { _, err := post(t, c, server.URL+"/break", nil); return err })
		if n := requests.Load(); n != 10 {
			t.Errorf("%s: a server that fails gets %d requests, want 10", kind, n)
		}
		p, retries := kind.Policy(), 10-calls
		if (p.Retries == 0) != (retries == 0) || retries > p.Floor+1 { // one call in ten, and the floor
			t.Errorf("%s: %d of the requests are retries, of which a call may have %d and a destination %d", kind, retries, p.Retries, p.Floor+1)
		}
	}
}

// A request that is made again has its body again.
func TestRetriesHaveTheBody(t *testing.T) {
	server, requests := answering(t)
	c := client(t, server.URL, outgoing.Relation)
	if a, err := post(t, c, server.URL+"/odd", nil); err != nil || a.Status != http.StatusOK || string(a.Body) != "body" || requests.Load() != 2 {
		t.Errorf("got %+v, %v after %d requests", a, err, requests.Load())
	}
	if a, err := post(t, client(t, server.URL, outgoing.EventWebhook), server.URL+"/odd", nil); err != nil || a.Status != http.StatusBadGateway || requests.Load() != 3 {
		t.Errorf("of a kind without retries: %+v, %v after %d requests", a, err, requests.Load())
	}
}

func TestKindsAreDeclared(t *testing.T) {
	for _, kind := range []outgoing.Kind{"", "unknown"} {
		if _, err := egress.New(egress.Config{URL: "https://example.com", Kind: kind}); err == nil {
			t.Errorf("a client of the kind %q was made", kind)
		}
	}
}

// Each push service of browsers has a circuit of its own, whatever the path.
func TestCircuitsOfPushServices(t *testing.T) {
	server, _ := answering(t)
	other, _ := answering(t)
	p := egress.NewPoster(egress.FetchConfig{InternalHosts: []string{hostOf(t, server.URL), hostOf(t, other.URL)}, Calls: outgoingtest.New()})
	defer p.Close()
	do := func(to string) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Do(r)
		return err
	}
	if n := refusedAfter(t, func() error { return do(server.URL + "/500") }); n != 10 {
		t.Errorf("calls are refused after %d failures", n)
	}
	if err := do(server.URL + "/another"); !outgoing.IsRefused(err) {
		t.Errorf("another endpoint of the same host: %v", err)
	}
	if err := do(other.URL); err != nil {
		t.Errorf("another host: %v", err)
	}
}

// Of a fetch that is redirected, the host that fails is not called any more, and not the one that led to it.
func TestCircuitsOfRedirects(t *testing.T) {
	failing, _ := answering(t)
	calls := outgoingtest.New()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/" {
			http.Redirect(w, r, failing.URL+r.URL.Path, http.StatusFound)
		}
	}))
	defer first.Close()
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{hostOf(t, first.URL), hostOf(t, failing.URL)}, Calls: calls})
	for _, path := range []string{"/500", "/break"} {
		if n := refusedAfter(t, func() error { _, err := fetch(t, f, first.URL+path); return err }); n != 10 {
			t.Errorf("%s: calls are refused after %d failures", path, n)
		}
		if _, err := fetch(t, f, failing.URL); !outgoing.IsRefused(err) {
			t.Errorf("%s: the host that fails: %v", path, err)
		}
		if _, err := fetch(t, f, first.URL); err != nil {
			t.Errorf("%s: the host that redirects: %v", path, err)
		}
		outgoingtest.Forget(t, calls, outgoing.LinkPreview)
	}
}

// slowHops answers after times that the hosts have, and redirects from the first to the second.
type slowHops map[string]time.Duration

func (h slowHops) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(h[r.URL.Host]):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://second.example.com"}}, Body: http.NoBody, Request: r}, nil
}

// A host is not blamed for the time that the hops before it took, nor for a caller who gave up.
func TestHopsAreJudgedByTheirOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := egress.NewFetcher(egress.FetchConfig{Timeout: 5 * time.Second, Calls: outgoingtest.New()})
		f.Through(slowHops{"first.example.com": 3 * time.Second, "second.example.com": time.Hour})
		for range 25 {
			if _, err := fetch(t, f, "https://first.example.com"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("after a slow hop: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			if _, err := f.Fetch(ctx, egress.Request{URL: "https://second.example.com"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("of a caller who gave up: %v", err)
			}
			cancel()
		}
		if n := refusedAfter(t, func() error { _, err := fetch(t, f, "https://second.example.com"); return err }); n != 10 {
			t.Errorf("calls are refused after %d failures", n)
		}
	})
}
