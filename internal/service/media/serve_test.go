package media_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
)

func TestSignedURLsAreSpecific(t *testing.T) {
	r := open(t, media.Config{})
	file := []byte("secret of alice")
	done := r.upload("a", file)
	other := r.create(alice, "b", len(file))
	get, put := r.url(done.Upload), other.Url
	change := func(from, key, value string) string {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if value == "" {
			q.Del(key)
		} else {
			q.Set(key, value)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	sig := func(u string) string { return u[strings.Index(u, "sig=")+4:] }
	moved := func(from string, to uint64) string {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/v1/media/" + id.Upload(to).String()
		return u.String()
	}
	later := fmt.Sprint(r.clock.Now().Add(time.Hour).Unix())
	for what, c := range map[string]struct{ method, url string }{
		"read with the right to write":   {http.MethodGet, put},
		"write with the right to read":   {http.MethodPut, get},
		"another upload":                 {http.MethodGet, moved(get, other.Upload)},
		"another upload to write":        {http.MethodPut, moved(put, done.Upload)},
		"a longer life":                  {http.MethodGet, change(get, "exp", later)},
		"a longer life to write":         {http.MethodPut, change(put, "exp", later)},
		"no life":                        {http.MethodGet, change(get, "exp", "")},
		"a life that is no number":       {http.MethodGet, change(get, "exp", "x")},
		"no signature":                   {http.MethodGet, change(get, "sig", "")},
		"half a signature":               {http.MethodGet, get[:len(get)-4]},
		"a longer signature":             {http.MethodGet, get + "A"},
		"the other's signature":          {http.MethodGet, change(get, "sig", sig(put))},
		"a zero before":                  {http.MethodGet, strings.Replace(get, "/v1/media/", "/v1/media/0", 1)},
		"nothing":                        {http.MethodGet, "/v1/media/1"},
		"no number":                      {http.MethodGet, "/v1/media/x?exp=1&sig=x"},
		"parts that are joined together": {http.MethodGet, strings.Replace(strings.Replace(get, "?exp=", "%20", 1), "&sig=", "?exp=&sig=", 1)},
	} {
		wantStatus(t, what, r.request(c.method, c.url, bytes.NewReader(file)), http.StatusForbidden, "bad_url")
	}
	for _, path := range []string{"/v1/media/", "/v1/media/1/2", "/v1/media/..%2f..%2frecords.db", "/v1/media/" + strings.Repeat("9", 5000)} {
		if w := r.request(http.MethodGet, path, nil); w.Code != http.StatusNotFound && w.Code != http.StatusForbidden {
			t.Errorf("GET %s is answered with %d", path, w.Code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPatch} {
		if w := r.request(method, get, nil); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("method %s is answered with %d", method, w.Code)
		}
	}
	// A URL for uploads is valid for 15 minutes. A URL for downloads stays the same for a quarter of an hour, and is valid for another.
	now := r.clock.Now()
	quarter := now.Truncate(15 * time.Minute)
	r.clock.ms.Store(now.Add(15 * time.Minute).UnixMilli())
	wantStatus(t, "late to write", r.put(put, file), http.StatusForbidden, "url_expired")
	r.clock.ms.Store(quarter.Add(15*time.Minute - 1).UnixMilli())
	if again := r.url(done.Upload); again != get {
		t.Errorf("another URL in the same quarter of an hour: %s, then %s", get, again)
	}
	r.clock.ms.Store(quarter.Add(30*time.Minute - time.Second).UnixMilli())
	if again := r.url(done.Upload); again == get {
		t.Errorf("the URL is still %s", get)
	}
	if w := r.request(http.MethodGet, get, nil); w.Code != http.StatusOK {
		t.Errorf("a request in time is answered with %d %s", w.Code, w.Body)
	}
	r.clock.ms.Add(1000)
	wantStatus(t, "late to read", r.request(http.MethodGet, get, nil), http.StatusForbidden, "url_expired")
	// URLs of another deployment are rejected.
	deps := r.deps
	deps.Secret = []byte("another secret")
	foreign, err := media.New(t.Context(), deps, media.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "another secret", r.request(http.MethodGet, foreign.PictureURL(id.Upload(done.Upload)), nil), http.StatusForbidden, "bad_url")
}

func TestSeparateOrigin(t *testing.T) {
	r := open(t, media.Config{Origin: "https://files.example.com"})
	up := r.create(alice, "a", 3)
	for _, u := range []string{up.Url, r.PictureURL(7)} {
		if !strings.HasPrefix(u, "https://files.example.com/v1/media/") {
			t.Errorf("the URL is %v", u)
		}
	}
	if w := r.put(strings.TrimPrefix(up.Url, "https://files.example.com"), []byte("abc")); w.Code != http.StatusNoContent {
		t.Errorf("the file is served with %d %s", w.Code, w.Body)
	}
	// A page of another site may show the files.
	if w := r.request(http.MethodGet, r.url(r.upload("b", []byte("text")).Upload), nil); w.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("status %d, Cross-Origin-Resource-Policy is %q", w.Code, w.Header().Get("Cross-Origin-Resource-Policy"))
	}
}

// TestTypesComeFromTheBytes: the name of a file does not determine its type, and only harmless types are shown inline.
func TestTypesComeFromTheBytes(t *testing.T) {
	r := open(t, media.Config{})
	zip := "PK\x03\x04\x14\x00\x00\x00\x08\x00"
	png, gif := picture(t, "png", 4, 4), picture(t, "gif", 4, 4)
	for what, c := range map[string]struct {
		name, body, found, served string
	}{
		"text":         {"a.txt", "hello", "text/plain", ""},
		"a page":       {"a.jpg", "<!DOCTYPE html><script>alert(1)</script>", "text/html", ""},
		"a page, late": {"a.png", strings.Repeat(" ", 300) + "<html>", "text/html", ""},
		"a script":     {"a.png", "alert(document.cookie)", "text/plain", ""},
		"SVG":          {"a.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "text/plain", ""},
		"SVG as XML":   {"a.png", `<?xml version="1.0"?><svg onload="alert(1)"/>`, "text/xml", ""},
		"PDF":          {"a.png", "%PDF-1.7 app.alert(1)", "application/pdf", ""},
		"zip":          {"a.jpg", zip, "application/zip", ""},
		"a program":    {"a.gif", "\x7fELF\x02\x01\x01\x00", "application/octet-stream", ""},
		"one byte":     {"a", "\x00", "application/octet-stream", ""},
		"PNG":          {"a.html", string(png), "image/png", "image/png"},
		"GIF":          {"a.html", string(gif), "image/gif", "image/gif"},
		"icon":         {"a.ico", "\x00\x00\x01\x00\x01\x00", "image/x-icon", ""},
		"MP4":          {"a.mp4", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "video/mp4", "video/mp4"},
		"a playlist":   {"a.mp4", "#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "text/plain", ""},
	} {
		u := r.upload(c.name, []byte(c.body))
		if c.found != "" && u.MimeType != c.found {
			t.Errorf("%s is detected as %s", what, u.MimeType)
		}
		w := r.request(http.MethodGet, r.url(u.Upload), nil)
		disposition, _, err := mime.ParseMediaType(w.Header().Get("Content-Disposition"))
		if err != nil || w.Code != http.StatusOK || w.Body.String() != c.body {
			t.Fatalf("%s: status %d, want 200 with the stored bytes; error %v", what, w.Code, err)
		}
		inline := w.Header().Get("Content-Type") != "application/octet-stream"
		if c.served != "" && w.Header().Get("Content-Type") != c.served || c.served == "" && c.found != "" && inline || (disposition == "inline") != inline {
			t.Errorf("%s is served as %s, %s", what, w.Header().Get("Content-Type"), disposition)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") || strings.Contains(csp, "allow-") || !strings.Contains(csp, "default-src 'none'") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cross-Origin-Resource-Policy") != "same-site" || !strings.HasPrefix(w.Header().Get("Cache-Control"), "private") {
			t.Errorf("%s is served with %v", what, w.Header())
		}
	}
}

// A truncated image, or one with trailing bytes, is not an image, or is stripped of the trailing bytes.
func TestTruncatedAndExtendedImages(t *testing.T) {
	r := open(t, media.Config{})
	for what, body := range map[string]string{"the name of GIF": "GIF89a/*<svg/onload=alert(1)>*/=alert(1);", "half a PNG": string(picture(t, "png", 4, 4)[:20]), "the name of JPEG": "\xff\xd8\xff\xe0 and a text"} {
		up := r.create(alice, "a", len(body))
		if w := r.put(up.Url, []byte(body)); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
		_, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload))
		wantError(t, what, err, errs.Invalid, "bad_image")
	}
	for format, more := range map[string]string{"gif": "PK\x03\x04\x14", "jpeg": "<?php system($_GET[0]);", "png": "<script>alert(1)</script>"} {
		body := string(picture(t, format, 4, 4))
		u := r.upload("a.html", []byte(body+more))
		if w := r.request(http.MethodGet, r.url(u.Upload), nil); w.Body.String() != body || u.Size != uint64(len(body)) || w.Header().Get("Content-Type") != "image/"+format {
			t.Errorf("%s with %q is stored as %v, %d bytes", format, more, u, w.Body.Len())
		}
	}
}

// TestPixelBombs: a small file that declares a huge picture is stored as a file, which no browser decodes.
func TestPixelBombs(t *testing.T) {
	chunk := func(name string, data ...byte) string {
		c := append([]byte(name), data...)
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + string(c) + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(c)))
	}
	header := func(width, height uint32) string {
		size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
		return "\x89PNG\r\n\x1a\n" + chunk("IHDR", append(size, 8, 2, 0, 0, 0)...)
	}
	end := chunk("IDAT") + chunk("IEND")
	scans := func(n int) string {
		return "\xff\xd8\xff\xc2\x00\x0b\x08\x00\x64\x00\x64\x01\x01\x11\x00" + strings.Repeat("\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00", n) + "\xff\xd9"
	}
	r := open(t, media.Config{})
	for what, body := range map[string]string{
		"PNG":                  header(50_000, 50_000) + end,
		"PNG, one line":        header(2_000_000_000, 1) + end,
		"PNG, no pixels":       header(0, 0) + end,
		"PNG, a line too much": header(8000, 5001) + end,
		"PNG, many frames":     header(5000, 1000) + strings.Repeat(chunk("fcTL", make([]byte, 26)...), 21) + end,
		"GIF":                  "GIF89a\xff\xff\xff\xff\x00\x00\x00;",
		"GIF, many frames":     "GIF89a\x88\x13\xe8\x03\x80\x00\x00\x00\x00\x00\xff\xff\xff" + strings.Repeat(",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00", 21) + ";",
		"JPEG":                 "\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xd9",
		"JPEG, many scans":     scans(101),
		"WebP":                 "RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff",
	} {
		u := r.upload("x.png", []byte(body))
		w := r.request(http.MethodGet, r.url(u.Upload), nil)
		if u.Width != 0 || strings.HasPrefix(u.MimeType, "image/") || w.Header().Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s is stored as %v, served as %s", what, u, w.Header().Get("Content-Type"))
		}
		if err := r.CheckPicture(t.Context(), alice, id.Upload(u.Upload)); err == nil {
			t.Errorf("%s is accepted as an avatar", what)
		}
	}
	for what, body := range map[string]string{
		"the largest":     header(8000, 5000) + end,
		"the most frames": header(5000, 1000) + strings.Repeat(chunk("fcTL", make([]byte, 26)...), 20) + end,
		"the most scans":  scans(100),
	} {
		if u := r.upload("x.png", []byte(body)); u.Width == 0 || !strings.HasPrefix(u.MimeType, "image/") {
			t.Errorf("%s is stored as %v", what, u)
		}
	}
}

func TestRanges(t *testing.T) {
	r := open(t, media.Config{})
	file := make([]byte, 10_000)
	for i := range file {
		file[i] = byte(i * 31)
	}
	u := r.url(r.upload("a", file).Upload)
	whole := r.request(http.MethodGet, u, nil)
	etag := whole.Header().Get("ETag")
	many := "bytes=0-0"
	for i := range 1000 {
		many += fmt.Sprintf(",%d-%d", i*2, i*2)
	}
	for _, c := range []struct {
		headers  []string
		status   int
		from, to int
	}{
		{nil, 200, 0, 10_000},
		{[]string{"Range: bytes=0-0"}, 206, 0, 1},
		{[]string{"Range: bytes=5-99"}, 206, 5, 100},
		{[]string{"Range: bytes=9000-"}, 206, 9000, 10_000},
		{[]string{"Range: bytes=9990-99999999999"}, 206, 9990, 10_000},
		{[]string{"Range: bytes=-1"}, 206, 9999, 10_000},
		{[]string{"Range: bytes=-20000"}, 206, 0, 10_000},
		{[]string{"Range: bytes=10000-"}, 416, 0, 0},
		{[]string{"Range: bytes=5-4"}, 416, 0, 0},
		{[]string{"Range: bytes=x"}, 416, 0, 0},
		{[]string{"Range: bytes=99999999999999999999-"}, 416, 0, 0},
		{[]string{"Range: " + many}, 200, 0, 10_000}, // at most one range is served
		{[]string{"Range: bytes=0-9,5-14"}, 200, 0, 10_000},
		{[]string{"Range: bytes=5-9", "If-Range: " + etag}, 206, 5, 10},
		{[]string{"Range: bytes=5-9", `If-Range: "another"`}, 200, 0, 10_000},
		{[]string{"If-None-Match: " + etag}, 304, 0, 0},
	} {
		w := r.request(http.MethodGet, u, nil, c.headers...)
		if w.Code != c.status {
			t.Errorf("%.60s: status %d", c.headers, w.Code)
		} else if c.status < 300 && !bytes.Equal(w.Body.Bytes(), file[c.from:c.to]) {
			t.Errorf("%.60s: got %d bytes", c.headers, w.Body.Len())
		}
	}
	if w := r.request(http.MethodHead, u, nil); w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "10000" {
		t.Errorf("HEAD is answered with %d %v", w.Code, w.Header())
	}
}

func TestFileNamesAreCleaned(t *testing.T) {
	r := open(t, media.Config{})
	for original, want := range map[string]string{
		"note.txt": "note.txt", "说明 📎.pdf": "说明 📎.pdf", "": "file", "..": "file", " . ": "file", "///": "file", "\x00\x01": "file",
		"../../etc/passwd": "passwd", `C:\Windows\con.txt`: "con.txt", "a\r\nSet-Cookie: x=y.txt": "aSet-Cookie x=y.txt", "invoice\u202efdp.exe": "invoicefdp.exe", "\u2066a\u2069\u200b.txt": "a.txt",
		`a"b;filename=c.html`: "ab;filename=c.html", "<img src=x onerror=y>.png": "img src=x onerror=y.png", "a\x7f\u0085b": "ab", ".htaccess": "htaccess", "trailing. . ": "trailing", "bad \xff utf": "bad  utf",
		strings.Repeat("a", 5000) + ".tar": strings.Repeat("a", 196) + ".tar", strings.Repeat("字", 100) + ".png": strings.Repeat("字", 65) + ".png", strings.Repeat("b", 300): strings.Repeat("b", 200),
		"a." + strings.Repeat("c", 300): "a." + strings.Repeat("c", 198),
	} {
		u := r.upload(original, []byte("x"))
		if u.Name != want {
			t.Errorf("%.40q is cleaned to %.80q, want %.80q", original, u.Name, want)
		}
		// Browsers get the same name, whatever its characters.
		h := r.request(http.MethodGet, r.url(u.Upload), nil).Header().Get("Content-Disposition")
		kind, params, err := mime.ParseMediaType(h)
		if err != nil || kind != "attachment" || params["filename"] != want || strings.ContainsAny(h, "\r\n") || strings.Contains(h, "\x00") {
			t.Errorf("%.40q: the header is %q (%v)", original, h, err)
		}
	}
}

// FuzzNames: a cleaned name is one part of a path, short, and readable.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a.txt", "../x", "\u202e", "\xff", strings.Repeat("é", 150) + ".é", " .a. "} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, original string) {
		name := media.CleanName(original)
		if name == "" || len(name) > 200 || !utf8.ValidString(name) || strings.ContainsAny(name, "/\\\x00\r\n\"<>:|?*\u202e") || name == "." || name == ".." {
			t.Errorf("%q is cleaned to %q", original, name)
		}
		if mime.FormatMediaType("attachment", map[string]string{"filename": name}) == "" {
			t.Errorf("%q cannot be encoded in a header", name)
		}
	})
}

// limits records the deadlines that a handler sets on its connection.
type limits struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (l *limits) SetReadDeadline(at time.Time) error {
	l.read = at
	return nil
}

func (l *limits) SetWriteDeadline(at time.Time) error {
	l.write = at
	return nil
}

// TestSlowTransfersTimeOut: a client that sends or reads a byte a minute keeps a connection only for a while.
func TestSlowTransfersTimeOut(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 16<<20)
	request := func(method, url string, body io.Reader) *limits {
		w := &limits{ResponseRecorder: httptest.NewRecorder()}
		r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, url, body))
		return w
	}
	now := time.Now()
	within := func(what string, at time.Time) {
		t.Helper()
		if d := at.Sub(now); d < 30*time.Second || d > 10*time.Minute { // after the last piece
			t.Errorf("%s has a deadline of %v for a piece", what, d)
		}
	}
	within("a PUT", request(http.MethodPut, up.Url, bytes.NewReader(make([]byte, 16<<20))).read)
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); err != nil {
		t.Fatal(err)
	}
	within("a GET", request(http.MethodGet, r.url(up.Upload), nil).write)
}
