package app

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rialto-im/rialto/web"
)

func getPage(serve http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	serve.ServeHTTP(w, r)
	return w
}

// TestBrowsersGetThePageAtAnyPath: a browser gets the page at any path, which the page routes; a program gets 404 for a path without a file.
func TestBrowsersGetThePageAtAnyPath(t *testing.T) {
	t.Parallel()
	serve := webApp(func() []string { return nil }, nil)
	for path, page := range map[string]bool{
		"/": true, "/c/250334591036948480": true, "/c/1/m/7": true, "/u/bob.1": true, "/settings/privacy": true, "/join/D06JT1_6": true, "/nothing": true,
		"/assets/nothing.js": false, "/assets/": false, "/v1/nothing": false,
	} {
		for _, accept := range []string{"text/html,application/xhtml+xml,*/*;q=0.8", "*/*"} {
			w := getPage(serve, path, "Accept", accept)
			isPage := w.Code == http.StatusOK && w.Header().Get("Content-Type") == "text/html; charset=utf-8"
			if want := page && (accept != "*/*" || path == "/"); isPage != want || !want && w.Code != http.StatusNotFound {
				t.Errorf("%s for %s is %d, %q", path, accept, w.Code, w.Header().Get("Content-Type"))
			}
			if varies := slices.Contains(w.Header().Values("Vary"), "Accept"); varies != (path != "/") {
				t.Errorf("%s for %s: Vary is %q", path, accept, w.Header().Values("Vary"))
			}
		}
	}
}

// TestContentSecurityPolicyAllowsTheMediaOrigin: the page may show files of media.origin, and upload to it; without one, none but its own.
func TestContentSecurityPolicyAllowsTheMediaOrigin(t *testing.T) {
	t.Parallel()
	const origin = "https://files.example.com"
	for _, directive := range []string{"img-src", "media-src", "connect-src"} {
		for configured, want := range map[string]bool{origin: true, "": false} {
			policy := getPage(webApp(func() []string { return originsOf(configured) }, nil), "/").Header().Get("Content-Security-Policy")
			_, rest, _ := strings.Cut(policy, directive)
			if sources, _, _ := strings.Cut(rest, ";"); strings.Contains(sources, origin) != want {
				t.Errorf("with media.origin %q, %s is%s", configured, directive, sources)
			}
		}
	}
}

// TestOnlyPagesHaveThePolicy: live edges are asked for where the answer is a page, however it is reached, and not for each of its files.
func TestOnlyPagesHaveThePolicy(t *testing.T) {
	t.Parallel()
	asked := 0
	serve := webApp(func() []string {
		asked++
		return []string{"https://edge.example.com"}
	}, nil)
	for _, path := range []string{"/icon.svg", "/sw.js", "/assets/nothing.js", "/nothing"} {
		if w := getPage(serve, path); asked != 0 || w.Header().Get("Content-Security-Policy") != "" {
			t.Fatalf("for %s, the addresses of edges are asked for, and the answer has %v", path, w.Header())
		}
	}
	for i, path := range []string{"/", "/index.html", "/c/1/m/7"} {
		w := getPage(serve, path, "Accept", "text/html")
		if asked != i+1 || !strings.Contains(w.Header().Get("Content-Security-Policy"), "https://edge.example.com") || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s has %v", path, w.Header())
		}
	}
}

// TestConsoleIsOnTheAdminListener: the console's page and files are on the admin listener, with a policy that allows nothing from elsewhere, and on the public one they are not.
func TestConsoleIsOnTheAdminListener(t *testing.T) {
	t.Parallel()
	dist, built := web.Files()
	page := getPage(console(), "/console/")
	if policy := page.Header().Get("Content-Security-Policy"); page.Code != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || page.Header().Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page is %d, with %v", page.Code, page.Header())
	}
	if getPage(console(), "/index.html").Code != http.StatusNotFound || getPage(console(), "/console/nothing").Code != http.StatusNotFound {
		t.Error("the admin listener has files of the app, or files that do not exist")
	}
	public, files, all := webApp(func() []string { return nil }, nil), 0, map[string]*webFile{}
	if built {
		all = loadWebFiles(dist)
	}
	for name := range all {
		if !strings.HasPrefix(name, web.ConsoleFolder) {
			continue
		}
		files++
		if own, got := getPage(console(), "/"+name).Code, getPage(public, "/"+name).Code; own != http.StatusOK || got != http.StatusNotFound {
			t.Errorf("%s is %d on the admin listener, and %d on the public one", name, own, got)
		}
	}
	if built && files < 3 {
		t.Errorf("the console has %d files", files)
	}
}

func compressed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // into memory: it cannot fail
	_ = z.Close()
	return b.Bytes()
}

// TestCompressedFiles: compressed files are chosen by Accept-Encoding, the smallest first, and caches distinguish them. A client that accepts none gets the plain form,
// which is not embedded where the file has a compressed one.
func TestCompressedFiles(t *testing.T) {
	t.Parallel()
	files := loadWebFiles(fstest.MapFS{
		"index.html":          {Data: []byte("<html>")},
		"index.html.gz":       {Data: []byte("page gzip")},
		"assets/a-1.js":       {Data: []byte("let a")},
		"assets/a-1.js.br":    {Data: []byte("script br")},
		"assets/a-1.js.gz":    {Data: []byte("script gzip")},
		"assets/picture.webp": {Data: []byte("small already")},
		"assets/b-2.js.br":    {Data: []byte("script br")},
		"assets/b-2.js.gz":    {Data: compressed("let b")},
	})
	if len(files) != 4 {
		t.Fatalf("%d files, with the compressed forms as files of their own", len(files))
	}
	const year = "public, max-age=31536000, immutable"
	etags := map[string]string{}
	for _, test := range []struct{ name, accept, encoding, body, cache string }{
		{"assets/a-1.js", "gzip, deflate, br, zstd", "br", "script br", year},
		{"assets/a-1.js", "gzip", "gzip", "script gzip", year},
		{"assets/a-1.js", "br;q=0, *", "gzip", "script gzip", year},
		{"assets/a-1.js", "BR ; q = 0.5", "br", "script br", year},
		{"assets/a-1.js", "", "", "let a", year},
		{"assets/a-1.js", "identity", "", "let a", year},
		{"assets/a-1.js", "*;q=0", "", "let a", year},
		{"assets/picture.webp", "br, gzip", "", "small already", year},
		{"assets/b-2.js", "br", "br", "script br", year},
		{"assets/b-2.js", "gzip", "gzip", string(compressed("let b")), year},
		{"assets/b-2.js", "identity", "", "let b", year},
		{"index.html", "br, gzip", "gzip", "page gzip", "no-cache"},
	} {
		serve := http.HandlerFunc(files[test.name].serve)
		w := getPage(serve, "/", "Accept-Encoding", test.accept)
		h := w.Header()
		if h.Get("Content-Encoding") != test.encoding || w.Body.String() != test.body || h.Get("Cache-Control") != test.cache {
			t.Errorf("%s for %q: %q, %q, %q", test.name, test.accept, h.Get("Content-Encoding"), w.Body, h.Get("Cache-Control"))
		}
		if compresses := !strings.HasSuffix(test.name, ".webp"); (h.Get("Vary") == "Accept-Encoding") != compresses {
			t.Errorf("%s: Vary is %q", test.name, h.Get("Vary"))
		}
		etag := h.Get("ETag")
		if other, ok := etags[etag]; ok && other != test.body {
			t.Errorf("%q and %q have the same ETag", other, test.body)
		}
		etags[etag] = test.body
		if again := getPage(serve, "/", "Accept-Encoding", test.accept, "If-None-Match", etag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s, unchanged, is %d", test.name, again.Code)
		}
	}
}

// TestPlainFormsAreDecompressedOnce: requests that accept no compressed form share the plain one, however many there are.
func TestPlainFormsAreDecompressedOnce(t *testing.T) {
	t.Parallel()
	reads := 0
	plain := decompressed(func() (io.ReadSeeker, error) {
		reads++
		return bytes.NewReader(compressed("let a")), nil
	})
	for range 3 {
		r, err := plain()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != "let a" {
			t.Fatalf("the asset is %q, %v, want let a", text, err)
		}
	}
	if reads != 1 {
		t.Errorf("it was decompressed %d times", reads)
	}
}

// TestBuiltAppIsCompressed: each large enough file has both compressed forms. Without a built app there are no files to check.
func TestBuiltAppIsCompressed(t *testing.T) {
	t.Parallel()
	dist, _ := web.Files()
	for name, f := range loadWebFiles(dist) {
		size := int64(-1) // of the plain form; -1: it is not embedded
		if info, err := fs.Stat(dist, name); err == nil {
			size = info.Size()
		}
		if f.contentType == "" && !strings.HasPrefix(path.Base(name), ".") {
			t.Errorf("%s has no type in contentTypes", name)
		}
		if compresses := size > 1000 && !strings.HasPrefix(f.contentType, "image/png") && !strings.HasSuffix(name, ".webp"); (compresses || size < 0) && len(f.encoded) != len(encodings) {
			t.Errorf("%s of %d bytes has %d compressed forms", name, size, len(f.encoded))
		}
		if strings.HasPrefix(name, "assets/") && size > 1000 && len(f.encoded) > 0 {
			t.Errorf("%s is embedded with its plain form", name)
		}
	}
}
