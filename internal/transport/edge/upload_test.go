package edge_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// received is an upload as an origin got it.
type received struct {
	method, uri, host, body string
	header                  http.Header
}

// uploadOrigin is an origin that answers uploads with 200 and an ETag, after each.
type uploadOrigin struct {
	server *httptest.Server
	each   func(r *http.Request)

	mu   sync.Mutex // guards list
	list []received
}

func newUploadOrigin(t *testing.T) *uploadOrigin {
	o := &uploadOrigin{}
	o.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.each != nil {
			o.each(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it broke off
		}
		o.mu.Lock()
		o.list = append(o.list, received{r.Method, r.RequestURI, r.Host, string(body), r.Header})
		o.mu.Unlock()
		w.Header().Set("ETag", `"sum"`)
		w.Header().Set("Access-Control-Allow-Origin", "https://origin.example.com")
		_, _ = io.WriteString(w, "stored")
	}))
	t.Cleanup(o.server.Close)
	return o
}

// taken returns what came, and forgets it.
func (o *uploadOrigin) taken() []received {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list = nil
	return list
}

func newUploadEdge(t *testing.T, urls ...string) *edge.Server {
	return newEdge(t, clocktest.NewManual(), edge.Config{Origins: urls})
}

// send sends an upload to an edge.
func send(s http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://edge.example.com"+target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const (
	partTarget = "/v1/media/12/parts/3?size=4&exp=99&sig=a-b_c"
	fileTarget = "/v1/media/12?exp=99&sig=a"
	s3Target   = "/rialto-uploads/12?partNumber=1&uploadId=12"
	signature  = "AWS4-HMAC-SHA256 Credential=12-99/20261129/rialto/s3/aws4_request, SignedHeaders=host, Signature=ab"
)

// TestUploadsGoToAnOrigin: the edge sends a presigned file or part, and what an S3 client signed, to an origin, and passes its answer on. What a client says of itself
// stays behind; of a request that is signed, all that its signature may be of is sent.
func TestUploadsGoToAnOrigin(t *testing.T) {
	o := newUploadOrigin(t)
	s := newUploadEdge(t, o.server.URL)
	for _, c := range []struct{ method, target, body, authorization string }{
		{http.MethodPut, fileTarget, "the whole file", ""},
		{http.MethodPut, partTarget, "part", ""},
		{http.MethodPut, s3Target, "part", signature},
		{http.MethodPost, "/rialto-uploads/12?uploads=", "", signature},
		{http.MethodDelete, "/rialto-uploads/12?uploadId=12", "", signature},
	} {
		w := send(s, c.method, c.target, c.body, "Authorization", c.authorization, "Content-Digest", "sha-256=:YWJj:", "Content-Type", "video/mp4", "X-Amz-Date", "20261129T000000Z",
			"Cookie", "a=b", "Origin", "https://app.example.com", "X-Forwarded-For", "192.0.2.1", "Proxy-Authorization", "Bearer forged")
		if w.Code != http.StatusOK || w.Header().Get("ETag") != `"sum"` || w.Body.String() != "stored" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s is answered with %d %v %s", c.method, c.target, w.Code, w.Header(), w.Body)
		}
		list := o.taken()
		if len(list) != 1 {
			t.Fatalf("%s %s: the origin got %d requests", c.method, c.target, len(list))
		}
		got, isS3 := list[0], c.authorization != ""
		h := got.header
		if got.method != c.method || got.uri != c.target || got.body != c.body || h.Get("Content-Digest") != "sha-256=:YWJj:" || h.Get("Content-Type") != "video/mp4" || h.Get("Authorization") != c.authorization {
			t.Errorf("%s %s: the origin got %+v", c.method, c.target, got)
		}
		if (got.host == "edge.example.com") != isS3 || (h.Get("X-Amz-Date") != "") != isS3 {
			t.Errorf("%s %s: the origin is called %s, with %v", c.method, c.target, got.host, h)
		}
		if h.Get("Proxy-Authorization") != "Bearer "+secret || h.Get("Cookie")+h.Get("Origin")+h.Get("X-Forwarded-For") != "" {
			t.Errorf("%s %s: the origin got the headers %v", c.method, c.target, h)
		}
	}
	if n := s.Stats().Uploads.Load(); n != 5 {
		t.Errorf("%d uploads are counted", n)
	}
}

// TestUploadsAreChecked: what cannot be an upload is refused, and reaches no origin.
func TestUploadsAreChecked(t *testing.T) {
	o := newUploadOrigin(t)
	s := newUploadEdge(t, o.server.URL)
	for _, c := range []struct {
		method, target string
		code           int
	}{
		{http.MethodPut, "/v1/media/x?exp=99&sig=a", 404}, {http.MethodPut, "/v1/media/012?exp=99&sig=a", 404}, {http.MethodPut, "/v1/media/12/parts/x?size=4&exp=99&sig=a", 404},
		{http.MethodPut, "/v1/media/12/other/1?exp=99&sig=a", 404}, {http.MethodPut, "/v1/media/12?exp=99", 403}, {http.MethodPut, "/v1/media/12?exp=x&sig=a", 403},
		{http.MethodPut, "/v1/media/12/parts/1?exp=99&sig=a", 403}, {http.MethodPut, "/rialto-uploads/x", 404}, {http.MethodPut, "/rialto-uploads/12?partNumber=1", 403},
		{http.MethodPut, "/v1/video/12/34-99-a/0.m4s", 405}, {http.MethodPost, fileTarget, 405}, {http.MethodDelete, fileTarget, 405}, {http.MethodPatch, s3Target, 405},
	} {
		checkCode(t, c.method+" "+c.target, send(s, c.method, c.target, "body"), c.code)
	}
	if list := o.taken(); len(list) != 0 {
		t.Errorf("the origin got %+v", list)
	}
}

// TestUploadsFindAnOrigin: an upload goes to another origin if one cannot be reached, and fails if none can. An upload that has begun is not sent twice.
func TestUploadsFindAnOrigin(t *testing.T) {
	o, dead := newUploadOrigin(t), newUploadOrigin(t)
	dead.server.Close()
	for _, urls := range [][]string{{dead.server.URL, o.server.URL}, {o.server.URL, dead.server.URL}} {
		s := newUploadEdge(t, urls...)
		checkCode(t, "an upload", send(s, http.MethodPut, partTarget, "part"), http.StatusOK)
		if list := o.taken(); len(list) != 1 || list[0].body != "part" {
			t.Errorf("the origin got %+v", list)
		}
	}
	s := newUploadEdge(t, dead.server.URL)
	checkCode(t, "an upload without an origin", send(s, http.MethodPut, partTarget, "part"), http.StatusServiceUnavailable)
	if n := s.Stats().FailedUploads.Load(); n != 1 {
		t.Errorf("%d uploads have failed", n)
	}
	breaks, other := newUploadOrigin(t), newUploadOrigin(t)
	var asked atomic.Int64
	breaks.each = func(r *http.Request) {
		asked.Add(1)
		_, _ = io.CopyN(io.Discard, r.Body, 2) // of the first bytes
		panic(http.ErrAbortHandler)
	}
	other.each = breaks.each
	s = newUploadEdge(t, breaks.server.URL, other.server.URL)
	checkCode(t, "an upload that breaks off", send(s, http.MethodPut, fileTarget, strings.Repeat("file", 4<<20)), http.StatusServiceUnavailable) // more than connections hold
	if n := asked.Load(); n != 1 {
		t.Errorf("%d origins got the beginning of an upload", n)
	}
}

// slowUploads are uploads whose clients have sent the first bytes and send no more, and which an origin has.
type slowUploads struct {
	bodies []*io.PipeWriter
	all    sync.WaitGroup
}

// hold sends the first bytes of so many uploads from an address to an edge, whose origin reports each to begun.
func (u *slowUploads) hold(t *testing.T, s http.Handler, from string, count int, begun <-chan string) {
	t.Helper()
	for range count {
		read, write := io.Pipe()
		u.bodies = append(u.bodies, write)
		u.all.Go(func() {
			r := httptest.NewRequest(http.MethodPut, fileTarget, read)
			r.RemoteAddr, r.ContentLength = from+":1", 10
			s.ServeHTTP(httptest.NewRecorder(), r)
		})
		if _, err := io.WriteString(write, "first"); err != nil {
			t.Fatal(err)
		}
	}
	for range count {
		if got := <-begun; got != "first" {
			t.Errorf("the origin has got %q", got)
		}
	}
}

// end ends them, as by clients that have gone.
func (u *slowUploads) end() {
	for _, b := range u.bodies {
		b.CloseWithError(errors.New("the client is gone"))
	}
	u.all.Wait()
}

// newSlowOrigin returns an origin that reports the first bytes of uploads.
func newSlowOrigin(t *testing.T) (*uploadOrigin, <-chan string) {
	o := newUploadOrigin(t)
	begun := make(chan string, edge.UploadsAtOnce)
	o.each = func(r *http.Request) {
		first := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, first) // what is missing shows in begun
		begun <- string(first)
	}
	return o, begun
}

// sendFrom sends an upload from an address.
func sendFrom(s http.Handler, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPut, fileTarget, strings.NewReader("whole"))
	r.RemoteAddr = from + ":1"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestUploadsAreNotKept: an origin gets the bytes as they come, and an edge has no more than uploadsAtOnce on their way. A client that breaks off is no failure of
// the origin.
func TestUploadsAreNotKept(t *testing.T) {
	o, begun := newSlowOrigin(t)
	s := newUploadEdge(t, o.server.URL)
	var slow slowUploads
	slow.hold(t, s, "127.0.0.1", edge.UploadsAtOnce, begun)
	checkCode(t, "one more", sendFrom(s, "127.0.0.1"), http.StatusServiceUnavailable)
	checkCode(t, "one of another address", sendFrom(s, "192.0.2.1"), http.StatusServiceUnavailable)
	slow.end()
	if list := o.taken(); len(list) != 0 {
		t.Errorf("the origin has %d uploads", len(list))
	}
	o.each = nil
	checkCode(t, "a later one", sendFrom(s, "127.0.0.1"), http.StatusOK)
}

// TestUploadsAreShared: the slow uploads of one address, or of one customer's networks, leave slots to others, and what is refused can be sent when they have ended.
func TestUploadsAreShared(t *testing.T) {
	o, begun := newSlowOrigin(t)
	s := newUploadEdge(t, o.server.URL)
	var slow slowUploads
	slow.hold(t, s, "192.0.2.1", edge.UploadsOfNetwork, begun)
	w := sendFrom(s, "192.0.2.1")
	checkCode(t, "one more of the address", w, http.StatusServiceUnavailable)
	if !strings.Contains(w.Body.String(), "busy") || w.Header().Get("Retry-After") == "" {
		t.Errorf("it is refused with %v %s", w.Header(), w.Body)
	}
	slow.hold(t, s, "192.0.2.2", 1, begun)
	slow.end()
	slow = slowUploads{}
	for network := range 4 {
		slow.hold(t, s, fmt.Sprintf("[2001:db8:7:%x::1]", network), edge.UploadsOfNetwork, begun)
	}
	checkCode(t, "one of a fifth network of the customer", sendFrom(s, "[2001:db8:7:5::1]"), http.StatusServiceUnavailable)
	slow.hold(t, s, "[2001:db8:8::1]", 1, begun)
	slow.end()
	if list := o.taken(); len(list) != 0 {
		t.Errorf("the origin has %d uploads", len(list))
	}
	o.each = nil
	checkCode(t, "a later one", sendFrom(s, "192.0.2.1"), http.StatusOK)
	if n := s.Stats().RefusedUploads.Load(); n != 2 {
		t.Errorf("%d uploads were refused", n)
	}
}
