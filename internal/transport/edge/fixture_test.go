package edge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

const secret = "a secret of edges and their origins"

// origin is a node that has files, as package media and package video serve them.
type origin struct {
	server *httptest.Server
	purges *edge.Purges
	urls   signedurl.Signer
	clock  *clocktest.Manual
	down   atomic.Bool
	broken atomic.Pointer[error] // of the sync with other nodes
	// pause is called in each request for a file, after its permission is known.
	pause atomic.Pointer[func(r *http.Request)]

	mu       sync.Mutex // guards all below
	files    map[string][]byte
	texts    map[string]string
	hidden   map[string]bool
	versions map[string]int
	headers  map[string]string
	asked    map[string]int
}

func newOrigin(t *testing.T, now *clocktest.Manual) *origin {
	o := &origin{clock: now, urls: signedurl.Signer{Secret: []byte("of the origin"), Clock: now}, files: map[string][]byte{}, texts: map[string]string{}, hidden: map[string]bool{}, versions: map[string]int{}, headers: map[string]string{}, asked: map[string]int{}}
	o.purges = edge.NewPurges(secret, func(context.Context) error {
		if err := o.broken.Load(); err != nil {
			return *err
		}
		return nil
	})
	mux := http.NewServeMux()
	mux.Handle(edge.PurgesPath, o.purges)
	mux.HandleFunc("/v1/media/{upload}", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if post := q.Get("post"); post != "" {
			o.serve(w, r, o.urls.Check("post", r.PathValue("upload")+" "+post, q.Get("exp"), q.Get("sig")), "file/"+r.PathValue("upload"), "post/"+post)
			return
		}
		o.serve(w, r, o.urls.Check("get", r.PathValue("upload"), q.Get("exp"), q.Get("sig")), "file/"+r.PathValue("upload"), "")
	})
	mux.HandleFunc("/v1/video/{video}/{token}/{file...}", func(w http.ResponseWriter, r *http.Request) {
		post, rest, _ := strings.Cut(r.PathValue("token"), "-")
		exp, sig, _ := strings.Cut(rest, "-")
		o.serve(w, r, o.urls.Check("play", r.PathValue("video")+" "+post, exp, sig), "video/"+r.PathValue("video")+"/"+r.PathValue("file"), "post/"+post)
	})
	o.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.down.Load() {
			http.Error(w, "dying", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(o.server.Close)
	return o
}

func (o *origin) serve(w http.ResponseWriter, r *http.Request, denied error, name, post string) {
	o.mu.Lock()
	o.asked[strings.TrimSpace(r.Method+" "+name+" "+r.Header.Get("Range"))]++
	data, found := o.files[name]
	text, isText := o.texts[name]
	hidden, version := o.hidden[post] || o.hidden[name], o.versions[name]
	for k, v := range o.headers {
		w.Header().Set(k, v)
	}
	o.mu.Unlock()
	if pause := o.pause.Load(); pause != nil {
		(*pause)(r)
	}
	switch {
	case denied != nil:
		http.Error(w, `{"reason":"bad_url"}`, http.StatusForbidden)
	case hidden || !found && !isText:
		http.Error(w, `{"reason":"no_file"}`, http.StatusNotFound)
	case isText:
		w.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
		w.Header().Set("Cache-Control", "private, no-cache")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	default:
		w.Header().Set("Content-Type", "video/mp4")
		w.Header().Set("Cache-Control", "private, max-age=43200, immutable")
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(name, "-", version)))
		http.ServeContent(w, r, "", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), bytes.NewReader(data))
	}
}

// put stores a file of random bytes.
func (o *origin) put(name string, size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(data) // it cannot fail
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files[name] = data
	return data
}

func (o *origin) do(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// requests returns how many there were, of those that begin with a text, and forgets them.
func (o *origin) requests(prefix string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for what, k := range o.asked {
		if strings.HasPrefix(what, prefix) {
			n += k
		}
	}
	clear(o.asked)
	return n
}

// most returns how often the most frequent request was made.
func (o *origin) most() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.asked {
		n = max(n, k)
	}
	return n
}

func (o *origin) media(upload string, valid time.Duration) string {
	exp := signedurl.Expiry(o.clock.Now().Add(valid))
	return "/v1/media/" + upload + "?exp=" + exp + "&sig=" + o.urls.Sign("get", upload, exp)
}

func (o *origin) picture(upload, post string, valid time.Duration) string {
	exp := signedurl.Expiry(o.clock.Now().Add(valid))
	return "/v1/media/" + upload + "?post=" + post + "&exp=" + exp + "&sig=" + o.urls.Sign("post", upload+" "+post, exp)
}

func (o *origin) video(video, post, name string, valid time.Duration) string {
	exp := signedurl.Expiry(o.clock.Now().Add(valid))
	return "/v1/video/" + video + "/" + post + "-" + exp + "-" + o.urls.Sign("play", video+" "+post, exp) + "/" + name
}

// networkOf returns the network of a client that no proxy reports.
func networkOf(r *http.Request) netip.Prefix { return ratelimit.Network(r.RemoteAddr, nil, false) }

func newEdge(t *testing.T, now *clocktest.Manual, config edge.Config, origins ...*origin) *edge.Server {
	t.Helper()
	config.Secret = secret
	for _, o := range origins {
		config.Origins = append(config.Origins, o.server.URL)
	}
	s, err := edge.New(edge.Deps{Dir: filepath.Join(t.TempDir(), "edge"), Network: networkOf, Clock: now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it cannot fail
	return s
}

// pair is an origin and its edge, which has heard from it.
func pair(t *testing.T) (*clocktest.Manual, *origin, *edge.Server) {
	t.Helper()
	now := clocktest.NewManual()
	o := newOrigin(t, now)
	s := newEdge(t, now, edge.Config{}, o)
	poll(t, s)
	return now, o, s
}

// poll asks the first origin what has changed. Of the time that this takes nothing passes on the clock of the test.
func poll(t *testing.T, s *edge.Server) {
	t.Helper()
	if err := edge.Poll(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
}

// get requests a file of an edge.
func get(s http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	return ask(s, http.MethodGet, target, header...)
}

func ask(s http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://edge", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// checkCode fails unless a request has a status.
func checkCode(t *testing.T, what string, w *httptest.ResponseRecorder, code int) {
	t.Helper()
	if w.Code != code {
		t.Errorf("%s is answered with %d, and not %d: %.200s", what, w.Code, code, w.Body)
	}
}

var errGone = errors.New("the connection is gone")

// checking compares what is written to it with a file.
type checking struct {
	header http.Header
	code   int
	data   []byte
	at     int
	wrong  bool
}

func (c *checking) Header() http.Header  { return c.header }
func (c *checking) WriteHeader(code int) { c.code = code }
func (c *checking) Write(b []byte) (int, error) {
	if c.at+len(b) > len(c.data) || !bytes.Equal(b, c.data[c.at:c.at+len(b)]) {
		c.wrong = true
		return 0, errGone
	}
	c.at += len(b)
	return len(b), nil
}
