package app

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/gen/openapi"
	"github.com/rialto-im/rialto/web"
)

// webApp serves the web app: its files, and its page at / and at any other path that a browser opens, because the page has its own routes.
// For programs these paths are 404. Pictures of the page may come from the addresses that fileOrigins returns, and its uploads go
// there; it is asked for each page, and not for other files. extensions are modules that the page runs, nil for none.
func webApp(fileOrigins func() []string, extensions *webExtensions) http.Handler {
	dist, built := web.Files()
	files := map[string]*webFile{}
	if built {
		files = loadWebFiles(dist)
		maps.DeleteFunc(files, func(name string, _ *webFile) bool { return strings.HasPrefix(name, web.ConsoleFolder) }) // the admin listener has them
	}
	return servePages(files, built, fileOrigins, extensions)
}

// servePages is webApp with some files.
func servePages(files map[string]*webFile, built bool, fileOrigins func() []string, extensions *webExtensions) http.Handler {
	if built && extensions != nil {
		maps.Copy(files, extensions.files)
		if page, err := extensions.addTo(files["index.html"]); err == nil { // openWebExtensions has tried it
			files["index.html"] = page
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if !isRead(r) {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this address is a page; calls are POSTs to /package.Service/Method", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name != "" && files[name] == nil {
			h.Add("Vary", "Accept") // a cache must not answer a browser with the 404 of a program
		}
		if name == "" || files[name] == nil && isNavigation(r) {
			name = "index.html"
		}
		if name == "index.html" {
			setPageHeaders(h, contentSecurityPolicy(fileOrigins()))
		}
		switch f := files[name]; {
		case f != nil:
			f.serve(w, r)
		case name == "index.html" && !built:
			h.Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(web.NotBuilt()) // the client may have gone
		default:
			http.NotFound(w, r)
		}
	})
}

// setPageHeaders sets the headers of pages, which no other page may show in a frame.
func setPageHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
}

// contentSecurityPolicy allows the page its own server, sockets, and files from some other addresses.
func contentSecurityPolicy(fileOrigins []string) string {
	others := ""
	for _, o := range fileOrigins {
		others += " " + o
	}
	return "default-src 'self'; img-src 'self' blob: data:" + others + "; media-src 'self' blob:" + others +
		"; connect-src 'self' ws: wss:" + others + "; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}

// isNavigation reports whether a browser opens a page. Files below /assets/ and /extensions/, and the API, have no pages.
func isNavigation(r *http.Request) bool {
	p := r.URL.Path
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(p, "/assets/") && !strings.HasPrefix(p, "/"+webExtensionsPath) && !strings.HasPrefix(p, "/v1/")
}

// immutable is the Cache-Control of files whose address has a hash of their content.
const immutable = "public, max-age=31536000, immutable"

// encodings are the compressed forms in which a file may be embedded, the smallest first, and the endings of their names.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// webFile is a file of the web app with its compressed forms, which the build made. The plain form of most is not embedded: the binary would be 3 MB larger.
// Contents are read from the binary when they are sent, and not kept.
type webFile struct {
	contentType, cacheControl string
	etag                      func() string // of the plain content, in hexadecimal
	plain                     content
	encoded                   map[string]content
}

// content opens a form of a file.
type content func() (io.ReadSeeker, error)

// loadWebFiles lists the built app. Nothing is compressed here: it would cost more and result in larger files.
func loadWebFiles(dist fs.FS) map[string]*webFile {
	files := map[string]*webFile{}
	contents := map[string]content{}
	_ = fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error { // embedded: it cannot fail
		if err == nil && !d.IsDir() {
			contents[name] = func() (io.ReadSeeker, error) {
				file, err := dist.Open(name)
				if err != nil {
					return nil, err
				}
				return file.(io.ReadSeeker), nil // as embed and fstest promise
			}
		}
		return err
	})
	for name, open := range contents {
		plain := contents[strings.TrimSuffix(name, ".gz")]
		switch original := strings.TrimSuffix(strings.TrimSuffix(name, ".br"), ".gz"); {
		case original == name:
		case plain == nil && strings.HasSuffix(name, ".gz"):
			name, plain = original, decompressed(open) // there is no plain form
		default:
			continue // the compressed form of another
		}
		f := newWebFile(contentTypeOf(name), plain, open)
		if strings.HasPrefix(name, "assets/") {
			f.cacheControl = immutable
		}
		for _, e := range encodings {
			if compressed := contents[name+e.suffix]; compressed != nil {
				f.encoded[e.name] = compressed
			}
		}
		files[name] = f
	}
	return files
}

// newWebFile creates a file without compressed forms. hashed is the content that gives the ETag.
func newWebFile(contentType string, plain, hashed content) *webFile {
	return &webFile{contentType: contentType, cacheControl: "no-cache", plain: plain, encoded: map[string]content{}, etag: sync.OnceValue(func() string {
		hash := sha256.New()
		r, err := hashed()
		if err == nil {
			_, err = io.Copy(hash, r)
		}
		if err != nil {
			return "" // what is embedded can be read
		}
		return hex.EncodeToString(hash.Sum(nil)[:8])
	})}
}

// openAPI is the document of the API.
func openAPI() *webFile {
	compressed := func() (io.ReadSeeker, error) { return bytes.NewReader(openapi.Compressed), nil }
	f := newWebFile("application/json", decompressed(compressed), compressed)
	f.encoded["gzip"] = compressed
	return f
}

// contentTypes are those of the app's files. Package mime would read what the machine knows of types, which differs between machines.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json", ".png": "image/png",
	".svg": "image/svg+xml", ".webmanifest": "application/manifest+json", ".webp": "image/webp", ".woff2": "font/woff2",
}

// contentTypeOf returns the type of a file, "" if it is not known.
func contentTypeOf(name string) string {
	return contentTypes[path.Ext(name)]
}

func (f *webFile) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cacheControl)
	open, etag := f.plain, f.etag()
	if len(f.encoded) > 0 {
		h.Add("Vary", "Accept-Encoding")
		accepted := acceptedEncodings(r.Header.Values("Accept-Encoding"))
		for _, e := range encodings {
			if compressed := f.encoded[e.name]; compressed != nil && accepted(e.name) {
				h.Set("Content-Encoding", e.name)
				open, etag = compressed, etag+"-"+e.name
				break
			}
		}
	}
	body, err := open()
	if err != nil {
		http.Error(w, "this file of the build is damaged; accept gzip, or build again", http.StatusInternalServerError)
		return
	}
	h.Set("ETag", strconv.Quote(etag))
	http.ServeContent(w, r, "", time.Time{}, body)
}

// decompressed is the content of a gzip file. It is decompressed once, and then kept, so that requests cannot multiply it.
func decompressed(compressed content) content {
	once := sync.OnceValues(func() ([]byte, error) {
		r, err := compressed()
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	})
	return func() (io.ReadSeeker, error) {
		b, err := once()
		return bytes.NewReader(b), err
	}
}

// acceptedEncodings reads Accept-Encoding: which encodings are accepted, by name or by *, and not with a weight of 0.
func acceptedEncodings(header []string) func(encoding string) bool {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		encoding, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameters), " ", ""), "q="); ok {
			if parsed, err := strconv.ParseFloat(q, 64); err == nil {
				weight = parsed
			}
		}
		weights[strings.ToLower(strings.TrimSpace(encoding))] = weight
	}
	return func(encoding string) bool {
		weight, named := weights[encoding]
		if !named {
			weight = weights["*"]
		}
		return weight > 0
	}
}
