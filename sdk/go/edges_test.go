package rialto_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
)

// edgeNetwork is a deployment with edges, without a network: hosts do what their texts say, or send them as the file.
type edgeNetwork struct {
	finder finder
	mu     sync.Mutex // guards all below
	does   map[string]string
	asked  []string
}

func (n *edgeNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		mux := http.NewServeMux()
		mux.Handle(gatewayv1connect.NewGatewayServiceHandler(&n.finder))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Result(), nil
	}
	n.mu.Lock()
	does := n.does[r.URL.Host]
	n.asked = append(n.asked, r.URL.Host+r.URL.RequestURI())
	n.mu.Unlock()
	answer := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(does)), Request: r}
	switch does {
	case "hangs":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "stalls":
		answer.Body = &stalled{ctx: r.Context()}
	case "fails":
		answer.StatusCode = http.StatusBadGateway
	case "refuses":
		answer.StatusCode, answer.Body = http.StatusForbidden, io.NopCloser(strings.NewReader(`{"code":"permission_denied","reason":"expired"}`))
	case "":
		return nil, errors.New("no connection")
	}
	return answer, nil
}

// stalled is a body that sends its first byte, and then nothing.
type stalled struct {
	ctx  context.Context
	sent bool
}

func (s *stalled) Read(p []byte) (int, error) {
	if !s.sent {
		s.sent = true
		return copy(p, "f"), nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s *stalled) Close() error { return nil }

// expect compares the addresses that files were asked of since the last call.
func (n *edgeNetwork) expect(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.asked, want) {
		t.Errorf("the file was asked of %v, want %v", n.asked, want)
	}
	n.asked = nil
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const edgeFile = "/v1/media/7?sig=a"

// TestFilesComeFromEdges: from the best edge that works, from the next one where that does not connect, hangs or fails, and in the end from where the server said. Those
// that failed are left for a minute.
func TestFilesComeFromEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &edgeNetwork{finder: finder{ttlMs: 3_600_000, edges: []string{"https://hangs", "https://dead", "https://fails", "https://works", "http://plain"}},
			does: map[string]string{"hangs": "hangs", "fails": "fails", "works": "file", "own": "file of the origin", "files": "another"}}
		c, err := rialto.New(rialto.Config{URL: "https://own", HTTP: &http.Client{Transport: n}})
		noError(t, err)
		read := func(address, want string) {
			t.Helper()
			body, err := c.OpenFile(t.Context(), address)
			noError(t, err)
			got, err := io.ReadAll(body)
			noError(t, err)
			noError(t, body.Close())
			if string(got) != want {
				t.Errorf("the file at %s is %q, want %q", address, got, want)
			}
		}
		read(edgeFile, "file")
		n.expect(t, "hangs"+edgeFile, "dead"+edgeFile, "fails"+edgeFile, "works"+edgeFile)
		read("https://files/v1/video/5/sig/master.m3u8", "file")
		n.expect(t, "works/v1/video/5/sig/master.m3u8")
		n.does["works"] = "fails"
		read(edgeFile, "file of the origin")
		n.expect(t, "works"+edgeFile, "own"+edgeFile)
		read("https://files/v1/other", "another")
		n.expect(t, "files/v1/other")
		time.Sleep(time.Minute)
		n.does["hangs"] = "file"
		read(edgeFile, "file")
		n.expect(t, "hangs"+edgeFile)
		if len(n.finder.asked) != 1 {
			t.Errorf("the edges were asked for %d times", len(n.finder.asked))
		}
	})
}

// TestEdgesThatFallSilent: a file ends in an error where its edge sends nothing more, and the next one is read elsewhere. A refusal is the origin's: no other edge is
// asked. Who gives up leaves no edge.
func TestEdgesThatFallSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &edgeNetwork{finder: finder{ttlMs: 3_600_000, edges: []string{"https://a", "https://b"}}, does: map[string]string{"a": "hangs", "b": "refuses"}}
		c, err := rialto.New(rialto.Config{URL: "https://own", HTTP: &http.Client{Transport: n}})
		noError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.OpenFile(ctx, edgeFile); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up gets %v", err)
		}
		n.does["a"] = "stalls"
		body, err := c.OpenFile(t.Context(), edgeFile)
		noError(t, err)
		time.Sleep(time.Hour) // nobody reads
		got, err := io.ReadAll(body)
		noError(t, body.Close())
		if string(got) != "f" || err == nil {
			t.Errorf("what an edge sent before it fell silent is %q, with %v", got, err)
		}
		n.expect(t, "a"+edgeFile, "a"+edgeFile)
		if _, err := c.OpenFile(t.Context(), edgeFile); rialto.Reason(err) != "expired" {
			t.Errorf("a refusal is %v", err)
		}
		n.expect(t, "b"+edgeFile)
	})
}
