package linkpreview_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// manualClock is advanced by the test.
type manualClock struct{ ms atomic.Int64 }

func (c *manualClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// site is a web server on this machine, and the service that reads it.
type site struct {
	*linkpreview.Service
	t     *testing.T
	url   string
	clock manualClock
	reads atomic.Int64
	off   atomic.Bool

	mu       sync.Mutex // guards the fields below
	pages    map[string]http.HandlerFunc
	pictures []linkpreview.Picture
	full     error
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, pages: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.reads.Add(1)
		s.mu.Lock()
		page := s.pages[r.URL.Path]
		s.mu.Unlock()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.open(linkpreview.Config{InternalHosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	return s
}

func (s *site) open(config linkpreview.Config) {
	s.t.Helper()
	var err error
	s.Service, err = linkpreview.New(linkpreview.Deps{StorePicture: s.store, IsOff: func(context.Context, id.User) (bool, error) { return s.off.Load(), nil },
		Secret: []byte("secret"), Clock: &s.clock, Logger: slog.New(slog.DiscardHandler)}, config)
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) store(_ context.Context, _ id.User, p linkpreview.Picture) (id.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full != nil {
		return 0, s.full
	}
	s.pictures = append(s.pictures, p)
	return id.Upload(len(s.pictures)), nil
}

// serve serves a document under a path.
func (s *site) serve(path, contentType string, body []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}
	return s.url + path
}

func (s *site) html(path, page string) string {
	return s.serve(path, "text/html; charset=utf-8", []byte(page))
}

func (s *site) preview(u id.User, url string) (*chatv1.LinkPreview, error) {
	return s.Preview(s.t.Context(), u, &chatv1.PreviewLinkRequest{Url: url})
}

func (s *site) must(u id.User, url string) *chatv1.LinkPreview {
	s.t.Helper()
	p, err := s.preview(u, url)
	if err != nil {
		s.t.Fatalf("%s: %v", url, err)
	}
	return p
}

func reasonOf(err error) string {
	if e := errs.Of(err); e != nil {
		return e.Reason
	}
	return ""
}

func pngOf(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A preview has what OpenGraph says of a page, and otherwise its title and description; of the page's own address, not of the one it names.
func TestPreview(t *testing.T) {
	s := newSite(t)
	s.serve("/picture.png", "image/png", pngOf(t, 1280, 640))
	full := s.html("/full", `<!doctype html><HTML><head><title>A title</title><meta name=description content="A description">
		<meta property="og:title" content="Fish &amp; chips"><meta property="og:description" content="  More
		than one line. "><meta property="og:site_name" content="The Site"><meta property="og:url" content="https://bank.example.com"><meta property="og:image" content="/picture.png"></head>
		<body><meta property="og:title" content="of the body"></body>`)
	p := s.must(1, full)
	if p.Url != full || p.Title != "Fish & chips" || p.Description != "More than one line." || p.SiteName != "The Site" || p.Picture != 1 || p.Width != 640 || p.Height != 320 {
		t.Errorf("the preview is %v", p)
	}
	if img, err := jpeg.DecodeConfig(bytes.NewReader(s.pictures[0].JPEG)); err != nil || img.Width != 640 || img.Height != 320 {
		t.Errorf("the picture is %v, %v", img, err)
	}
	if err := s.Verify(1, p); err != nil {
		t.Error(err)
	}
	plain := s.must(1, s.html("/plain", `<title> A <b>title</title><meta name="Description" content="A description">`))
	if plain.Title != "A <b>title" || plain.Description != "A description" || plain.SiteName != "" || plain.Picture != 0 {
		t.Errorf("a page without OpenGraph: %v", plain)
	}
	latin := s.must(1, s.serve("/latin", "text/html; charset=iso-8859-1", []byte("<title>caf\xe9</title>")))
	if latin.Title != "café" {
		t.Errorf("a page in Latin-1 has the title %q", latin.Title)
	}
	chinese := s.must(1, s.serve("/gbk", "text/html", []byte("<meta charset=gbk><title>\xc4\xe3\xba\xc3</title>")))
	if chinese.Title != "你好" {
		t.Errorf("a page in GBK has the title %q", chinese.Title)
	}
}

// What hostile pages say is bounded and readable, or there is no preview.
func TestHostilePages(t *testing.T) {
	s := newSite(t)
	long := s.must(1, s.html("/long", "<title>"+strings.Repeat("long ", 2<<20)+"</title>"))
	if n := len([]rune(long.Title)); n > 200 || !strings.HasSuffix(long.Title, "…") {
		t.Errorf("a title of 10 MB has %d characters", n)
	}
	deep := s.must(1, s.html("/deep", "<title>deep</title>"+strings.Repeat("<div>", 100_000)))
	many := s.must(1, s.html("/many", "<title>many</title>"+strings.Repeat(`<meta property="og:title" content="">`, 20_000)))
	if deep.Title != "deep" || many.Title != "many" {
		t.Errorf("got %v and %v", deep, many)
	}
	marks := s.must(1, s.html("/direction", "<title>a\u202eb\u2066c\u200bd\x07e&#0;f\nbank</title>"))
	if marks.Title != "abcdef bank" {
		t.Errorf("a title with control characters is %q", marks.Title)
	}
	script := s.must(1, s.html("/script", `<script>"<title>not</title>"</script><!-- <title>nor this</title> --><title>this</title>`))
	if script.Title != "this" {
		t.Errorf("the title is %q", script.Title)
	}
	for name, link := range map[string]string{
		"no title":         s.html("/none", "<p>hello"),
		"an empty title":   s.html("/empty", "<title> \u200b </title>"),
		"stacked marks":    s.html("/zalgo", "<title>a"+strings.Repeat("\u0301", 100)+"</title>"),
		"an image":         s.serve("/picture", "image/png", pngOf(t, 2, 2)),
		"an image as HTML": s.serve("/lie", "text/html", pngOf(t, 2, 2)),
		"no page":          s.url + "/missing",
		"another server":   "http://127.0.0.1:1/",
		"the metadata":     "http://169.254.169.254/latest/meta-data",
	} {
		if p, err := s.preview(1, link); reasonOf(err) != "no_preview" {
			t.Errorf("%s: %v, %v; want no_preview", name, p, err)
		}
	}
	for _, link := range []string{"", "example.com", "mailto:a@example.com", "javascript:alert(1)", "http://", "http://a b", "http://example.com/" + strings.Repeat("x", 2000)} {
		if p, err := s.preview(1, link); reasonOf(err) != "bad_link_url" {
			t.Errorf("%.40q: %v, %v; want bad_link_url", link, p, err)
		}
	}
}

func jpegOf(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, w, h)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pngHeader is the beginning of a PNG that says it has so many pixels.
func pngHeader(w, h uint32) []byte {
	chunk := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	chunk = append(chunk, 8, 6, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	return binary.BigEndian.AppendUint32(append(b, chunk...), crc32.ChecksumIEEE(chunk))
}

// A preview does without a picture that is too large, is none, or cannot be stored.
func TestPreviewsWithoutPicture(t *testing.T) {
	s := newSite(t)
	for i, picture := range []string{
		s.serve("/bomb", "image/png", pngHeader(100_000, 100_000)),
		s.serve("/pixels", "image/png", pngOf(t, 4000, 2001)),
		s.serve("/large", "image/png", append(pngOf(t, 2, 2), make([]byte, 5<<20)...)),
		s.serve("/scans", "image/jpeg", append(jpegOf(t, 2, 2), strings.Repeat("\xff\xda", 101)...)),
		s.serve("/html", "text/html", pngOf(t, 2, 2)),
		s.serve("/svg", "image/svg+xml", []byte("<svg/>")),
		s.serve("/damaged", "image/png", pngOf(t, 100, 100)[:60]),
		s.url + "/missing", "http://169.254.169.254/a.png", "data:image/png;base64,AAAA", "file:///etc/passwd", "::",
	} {
		if p := s.must(1, s.html(fmt.Sprintf("/%d", i), `<title>a</title><meta property="og:image" content="`+picture+`">`)); p.Title != "a" || p.Picture != 0 || p.Width != 0 {
			t.Errorf("%s: preview %v, want a title and no picture", picture, p)
		}
	}
	s.full = errors.New("the disk is full")
	if p := s.must(1, s.html("/page", `<title>a</title><meta property="og:image" content="`+s.serve("/good", "image/png", pngOf(t, 2, 2))+`">`)); p.Picture != 0 || s.Verify(1, p) != nil {
		t.Errorf("with a full disk: %v", p)
	}
}

// TestSlowPagesOfOneUserLeaveRoom: pages that do not end for one user keep nobody else from previews.
func TestSlowPagesOfOneUserLeaveRoom(t *testing.T) {
	s := newSite(t)
	release := make(chan struct{})
	var waiting atomic.Int64
	slow := func(w http.ResponseWriter, r *http.Request) {
		waiting.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	var calls sync.WaitGroup
	var refused atomic.Int64
	for i := range 20 {
		path := fmt.Sprintf("/slow%d", i)
		s.mu.Lock()
		s.pages[path] = slow
		s.mu.Unlock()
		calls.Go(func() {
			if _, err := s.preview(1, s.url+path); reasonOf(err) == "busy" {
				refused.Add(1)
			}
		})
	}
	eventually.True(t, "each call of the user waits or is refused", func() bool { return waiting.Load()+refused.Load() == 20 })
	if n := waiting.Load(); n != 4 {
		t.Errorf("%d pages of one user are read at once, want 4", n)
	}
	if p := s.must(2, s.html("/quick", "<title>quick</title>")); p.Title != "quick" {
		t.Errorf("another user's preview is %v", p)
	}
	close(release)
	calls.Wait()
}

// Nobody sends a preview that the server did not make for them.
func TestForgedPreviews(t *testing.T) {
	s := newSite(t)
	s.serve("/picture.png", "image/png", pngOf(t, 2, 2))
	good := s.must(1, s.html("/page", `<title>title</title><meta name=description content=text><meta property="og:site_name" content=site><meta property="og:image" content="/picture.png">`))
	for name, change := range map[string]func(p *chatv1.LinkPreview){
		"url":         func(p *chatv1.LinkPreview) { p.Url = "https://evil.example.com" },
		"title":       func(p *chatv1.LinkPreview) { p.Title = "Bank" },
		"description": func(p *chatv1.LinkPreview) { p.Description = "" },
		"site":        func(p *chatv1.LinkPreview) { p.SiteName = "Bank" },
		"moved text":  func(p *chatv1.LinkPreview) { p.Title, p.Description = p.Title+p.Description, "" },
		"picture":     func(p *chatv1.LinkPreview) { p.Picture++ },
		"size":        func(p *chatv1.LinkPreview) { p.Width++ },
		"signature":   func(p *chatv1.LinkPreview) { p.Signature[0]++ },
		"none":        func(p *chatv1.LinkPreview) { p.Signature = nil },
	} {
		forged := proto.Clone(good).(*chatv1.LinkPreview)
		if change(forged); reasonOf(s.Verify(1, forged)) != "bad_preview" {
			t.Errorf("with another %s: %v", name, s.Verify(1, forged))
		}
	}
	if err := s.Verify(2, good); reasonOf(err) != "bad_preview" {
		t.Errorf("by another user: %v", err)
	}
}

// A page is read once for all, and again after a time; each user has an own picture.
func TestPagesAreReadOnce(t *testing.T) {
	s := newSite(t)
	link := s.html("/page", `<title>old</title><meta property="og:image" content="`+s.serve("/p.png", "image/png", pngOf(t, 2, 2))+`">`)
	var wait sync.WaitGroup
	for range 10 {
		for _, u := range []id.User{1, 2} {
			wait.Go(func() {
				if p, err := s.preview(u, link+"#part"); err != nil || p.Title != "old" || p.Picture == 0 {
					t.Errorf("preview %v, want the stored one with a picture; error %v", p, err)
				}
			})
		}
	}
	wait.Wait()
	if n := s.reads.Load(); n != 2 || len(s.pictures) != 2 {
		t.Errorf("%d reads of the page and its picture, and %d pictures; want 2 and 2", n, len(s.pictures))
	}
	missing := s.url + "/missing"
	for range 2 {
		if _, err := s.preview(1, missing); reasonOf(err) != "no_preview" {
			t.Errorf("error %v, want the reason no_preview", err)
		}
	}
	if n := s.reads.Load(); n != 3 {
		t.Errorf("%d reads, want one of the page that is missing", n-2)
	}
	s.html("/page", "<title>new</title>")
	s.html("/missing", "<title>new</title>")
	s.clock.ms.Add(31 * time.Minute.Milliseconds())
	for _, l := range []string{link, missing} {
		if p := s.must(1, l); p.Title != "new" {
			t.Errorf("after half an hour: %v", p)
		}
	}
}

// The operator switches previews off for all, and a user for themself; then nothing is read.
func TestPreviewsCanBeSwitchedOff(t *testing.T) {
	s := newSite(t)
	link := s.html("/page", "<title>a</title>")
	s.off.Store(true)
	if _, err := s.preview(1, link); reasonOf(err) != "previews_off" {
		t.Errorf("switched off by the user: %v", err)
	}
	s.off.Store(false)
	s.open(linkpreview.Config{Off: true})
	if _, err := s.preview(1, link); reasonOf(err) != "previews_off" || s.reads.Load() > 0 {
		t.Errorf("switched off by the operator: %v, %d reads", err, s.reads.Load())
	}
}

// The cache of pages is bounded: the ones that were not used for longest go first.
func TestTheCacheIsBounded(t *testing.T) {
	s := newSite(t)
	for i := range 1001 {
		s.must(1, s.html(fmt.Sprintf("/%d", i), "<title>a</title>"))
	}
	before := s.reads.Load()
	if s.must(2, s.url+"/1000"); s.reads.Load() != before {
		t.Error("the newest page was read again")
	}
	if s.must(2, s.url+"/0"); s.reads.Load() != before+1 {
		t.Error("the oldest page is still kept")
	}
}
