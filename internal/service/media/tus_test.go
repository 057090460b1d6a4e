package media_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/service/media"
)

// tus sends a request of alice's tus client.
func (r *fixture) tus(method, url string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.request(method, url, body, append([]string{"Tus-Resumable: 1.0.0", "Authorization: Bearer alice", "Content-Type: application/offset+octet-stream"}, headers...)...)
}

func (r *fixture) createTus(size int, headers ...string) string {
	r.t.Helper()
	w := r.tus(http.MethodPost, "/v1/tus/", nil, append([]string{"Upload-Length: " + strconv.Itoa(size)}, headers...)...)
	if w.Code != http.StatusCreated || w.Header().Get("Upload-Expires") != time.UnixMilli(r.clock.ms.Load()).Add(24*time.Hour).UTC().Format(http.TimeFormat) {
		r.t.Fatalf("status %d, want 201 with Upload-Expires in a day: %v, %s", w.Code, w.Header(), w.Body)
	}
	return w.Header().Get("Location")
}

func (r *fixture) wantOffset(what, url string, want int) {
	r.t.Helper()
	w := r.tus(http.MethodHead, url, nil)
	if w.Code != http.StatusOK || w.Header().Get("Upload-Offset") != strconv.Itoa(want) || w.Header().Get("Cache-Control") != "no-store" {
		r.t.Errorf("%s: %d, offset %s, want %d", what, w.Code, w.Header().Get("Upload-Offset"), want)
	}
}

func (r *fixture) patch(url string, from int, bytes io.Reader, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.tus(http.MethodPatch, url, bytes, append([]string{"Upload-Offset: " + strconv.Itoa(from)}, headers...)...)
}

func tusUpload(url string) uint64 {
	n, _ := strconv.ParseUint(url[strings.LastIndex(url, "/")+1:], 10, 64)
	return n
}

// TestTusInPieces: pieces of any length, with and without a length, over a restart. An interrupted piece is kept up to its last whole part.
func TestTusInPieces(t *testing.T) {
	r := open(t, media.Config{})
	file := threeParts
	url := r.createTus(len(file), "Upload-Metadata: filename "+base64.StdEncoding.EncodeToString([]byte("电影.bin"))+",private")
	r.wantOffset("at the beginning", url, 0)
	at := 0
	send := func(n int, length bool) {
		t.Helper()
		var body io.Reader = bytes.NewReader(file[at : at+n])
		if !length {
			body = struct{ io.Reader }{body}
		}
		w := r.patch(url, at, body)
		if at += n; w.Code != http.StatusNoContent || w.Header().Get("Upload-Offset") != strconv.Itoa(at) {
			t.Fatalf("status %d, want 204 with the offset %d: %v, %s", w.Code, at, w.Header(), w.Body)
		}
	}
	send(1000, true)
	send(0, true)
	send(3000, false)
	r.restart()
	r.wantOffset("after a restart", url, 4000)
	broken := io.MultiReader(bytes.NewReader(file[at:blob.MinPartSize+500]), iotest.ErrReader(io.ErrUnexpectedEOF))
	q := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, url, broken)
	q.ContentLength = int64(len(file) - at)
	for name, value := range map[string]string{"Tus-Resumable": "1.0.0", "Authorization": "Bearer alice", "Content-Type": "application/offset+octet-stream", "Upload-Offset": strconv.Itoa(at)} {
		q.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a broken body: %d %s", w.Code, w.Body)
	}
	at = blob.MinPartSize
	r.wantOffset("after a broken connection", url, at)
	if w := r.patch(url, at, struct{ io.Reader }{io.MultiReader(bytes.NewReader(file[at:at+500]), iotest.ErrReader(io.ErrUnexpectedEOF))}); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a broken body without a length: %d %s", w.Code, w.Body)
	}
	at += 500
	r.wantOffset("it is kept to the byte", url, at)
	r.restart()
	send(len(file)-at-1, false)
	send(1, true)
	r.wantOffset("at the end", url, len(file))
	r.wantFile(tusUpload(url), file)
	r.wantOffset("completed", url, len(file))
}

// TestTusRefusals: each has its status, and changes nothing.
func TestTusRefusals(t *testing.T) {
	r := open(t, media.Config{MaxSize: 1000})
	for _, c := range []struct {
		what    string
		headers []string
		status  int
		reason  string
	}{
		{"no version", []string{"Tus-Resumable: "}, http.StatusPreconditionFailed, "wrong_version"},
		{"no user", []string{"Authorization: "}, http.StatusUnauthorized, "no_token"},
		{"no length", []string{"Upload-Length: "}, http.StatusBadRequest, "bad_size"},
		{"a negative length", []string{"Upload-Length: -1"}, http.StatusBadRequest, "bad_size"},
		{"an empty file", []string{"Upload-Length: 0"}, http.StatusBadRequest, "bad_size"},
		{"a large file", []string{"Upload-Length: 1001"}, http.StatusRequestEntityTooLarge, "bad_size"},
		{"bad metadata", []string{"Upload-Metadata: filename ?"}, http.StatusBadRequest, "bad_metadata"},
		{"bad concatenation", []string{"Upload-Concat: final;x"}, http.StatusBadRequest, "bad_concat"},
		{"an override", []string{"X-HTTP-Method-Override: TRACE"}, http.StatusMethodNotAllowed, "wrong_method"},
	} {
		wantStatus(t, c.what, r.tus(http.MethodPost, "/v1/tus/", nil, append([]string{"Upload-Length: 10"}, c.headers...)...), c.status, c.reason)
	}
	url := r.createTus(10)
	sum := sha1.Sum([]byte("01234"))
	for _, c := range []struct {
		what, body string
		headers    []string
		status     int
		reason     string
	}{
		{"another type", "01234", []string{"Content-Type: text/plain"}, http.StatusUnsupportedMediaType, "wrong_type"},
		{"no offset", "01234", []string{"Upload-Offset: "}, http.StatusBadRequest, "bad_offset"},
		{"another offset", "01234", []string{"Upload-Offset: 1"}, http.StatusConflict, "wrong_offset"},
		{"too much", "01234567890", nil, http.StatusRequestEntityTooLarge, "wrong_size"},
		{"an unknown checksum", "01234", []string{"Upload-Checksum: crc32 AAAA"}, http.StatusBadRequest, "bad_checksum"},
		{"another checksum", "01235", []string{"Upload-Checksum: sha1 " + base64.StdEncoding.EncodeToString(sum[:])}, 460, "wrong_checksum"},
		{"another checksum of all bytes", "0123456789", []string{"Upload-Checksum: sha1 " + base64.StdEncoding.EncodeToString(sum[:])}, 460, "wrong_checksum"},
		{"another user", "01234", []string{"Authorization: Bearer bob"}, http.StatusNotFound, "no_upload"},
	} {
		wantStatus(t, c.what, r.patch(url, 0, strings.NewReader(c.body), c.headers...), c.status, c.reason)
	}
	wantStatus(t, "too much, without a length", r.patch(url, 0, struct{ io.Reader }{strings.NewReader("01234567890")}, "Upload-Checksum: sha1 "+base64.StdEncoding.EncodeToString(sum[:])), http.StatusRequestEntityTooLarge, "wrong_size")
	r.wantOffset("after refusals", url, 0)
	if w := r.tus(http.MethodPost, url, strings.NewReader("01234"), "X-HTTP-Method-Override: PATCH", "Upload-Offset: 0", "Upload-Checksum: sha1 "+base64.StdEncoding.EncodeToString(sum[:])); w.Code != http.StatusNoContent {
		t.Errorf("the right checksum: %d %s", w.Code, w.Body)
	}
	r.wantOffset("the right checksum", url, 5)
	m := r.multipart(alice, 10)
	wantStatus(t, "an upload in parts", r.patch("/v1/tus/"+strconv.FormatUint(m.Upload, 10), 0, strings.NewReader("0")), http.StatusBadRequest, "wrong_protocol")
	for _, other := range []string{url + "1", "/v1/tus/x"} {
		wantStatus(t, other, r.patch(other, 0, strings.NewReader("0")), http.StatusNotFound, "no_upload")
	}
	for what, w := range map[string]*httptest.ResponseRecorder{"delete": r.tus(http.MethodDelete, url, nil, "Authorization: Bearer bob"), "nobody's": r.tus(http.MethodDelete, url+"1", nil)} {
		wantStatus(t, what, w, http.StatusNotFound, "no_upload")
	}
	if w := r.tus(http.MethodDelete, url, nil); w.Code != http.StatusNoContent {
		t.Errorf("terminating the upload was answered %d %s, want 204", w.Code, w.Body)
	}
	if w := r.tus(http.MethodHead, url, nil); w.Code != http.StatusNotFound {
		t.Errorf("terminated: %d", w.Code)
	}
	if k := r.files(); k != 0 {
		t.Errorf("%d files are left", k)
	}
}

// TestTusOptions says what the server can do, to anyone.
func TestTusOptions(t *testing.T) {
	r := open(t, media.Config{MaxSize: 1000})
	w := r.request(http.MethodOptions, "/v1/tus/", nil)
	for name, want := range map[string]string{"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Max-Size": "1000", "Tus-Extension": "creation,termination,checksum,expiration,concatenation", "Tus-Checksum-Algorithm": "sha1,sha256,md5"} {
		if got := w.Header().Get(name); w.Code != http.StatusNoContent || got != want {
			t.Errorf("%d, %s is %q, want %q", w.Code, name, got, want)
		}
	}
}

// TestTusConcatenation makes one upload of two, once, and only of one's own.
func TestTusConcatenation(t *testing.T) {
	r := open(t, media.Config{})
	file := threeParts[:blob.MinPartSize+2000]
	cut := blob.MinPartSize - 100
	var urls []string
	for _, b := range [][]byte{file[:cut], file[cut:]} {
		url := r.createTus(len(b), "Upload-Concat: partial")
		if len(urls) == 1 {
			wantStatus(t, "an incomplete one", r.tus(http.MethodPost, "/v1/tus/", nil, "Upload-Concat: final;"+urls[0]+" "+url), http.StatusBadRequest, "parts_missing")
		}
		if w := r.patch(url, 0, bytes.NewReader(b)); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
		if w := r.tus(http.MethodHead, url, nil); w.Header().Get("Upload-Concat") != "partial" {
			t.Errorf("the partial upload has %v", w.Header())
		}
		urls = append(urls, url)
	}
	concat := "Upload-Concat: final;https://example.com" + urls[0] + " " + urls[1]
	wantStatus(t, "another user's", r.tus(http.MethodPost, "/v1/tus/", nil, concat, "Authorization: Bearer bob"), http.StatusNotFound, "no_upload")
	whole := r.createTus(3)
	wantStatus(t, "one that is not partial", r.tus(http.MethodPost, "/v1/tus/", nil, "Upload-Concat: final;"+whole+" "+urls[0]), http.StatusBadRequest, "bad_concat")
	wantStatus(t, "one twice", r.tus(http.MethodPost, "/v1/tus/", nil, "Upload-Concat: final;"+urls[0]+" "+urls[0]), http.StatusBadRequest, "bad_concat")
	final := r.createTus(0, concat)
	if again := r.createTus(0, concat); again != final {
		t.Errorf("the repeated request made %s, the first %s", again, final)
	}
	wantStatus(t, "another user's, after", r.tus(http.MethodPost, "/v1/tus/", nil, concat, "Authorization: Bearer bob"), http.StatusNotFound, "no_upload")
	wantStatus(t, "more bytes", r.patch(final, len(file), strings.NewReader("")), http.StatusForbidden, "final_upload")
	r.wantOffset("concatenated", final, len(file))
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(tusUpload(final))); err != nil {
		t.Fatal(err)
	}
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantFile(tusUpload(final), file)
}

// TestShortRequestsOfTus write the beginning of a part again each, so their number is bounded. Requests with more bytes are not counted.
func TestShortRequestsOfTus(t *testing.T) {
	r := open(t, media.Config{})
	r.totalsUnchecked = true // incomplete uploads
	url, at := r.createTus(blob.MinPartSize), 0
	send := func(n int) *httptest.ResponseRecorder {
		t.Helper()
		w := r.patch(url, at, bytes.NewReader(threeParts[at:at+n]))
		if w.Code == http.StatusNoContent {
			at += n
		}
		return w
	}
	for range 4 {
		if w := send(1 << 20); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
	}
	for range 15 { // 64 MiB are written again
		if w := send(1); w.Code != http.StatusNoContent {
			t.Fatalf("at %d: status %d, want 204: %s", at, w.Code, w.Body)
		}
	}
	w := send(1)
	wantStatus(t, "many short requests", w, http.StatusTooManyRequests, "too_many_requests")
	if w.Header().Get("Retry-After") != "1" {
		t.Errorf("many short requests: %v", w.Header())
	}
	r.wantOffset("after the refusal", url, at)
	r.clock.ms.Add(1000)
	if w := send(blob.MinPartSize - at); w.Code != http.StatusNoContent {
		t.Errorf("the rest: %d %s", w.Code, w.Body)
	}
	r.wantFile(tusUpload(url), threeParts[:blob.MinPartSize])
}
