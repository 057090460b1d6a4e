package linkpreview

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

const (
	maxURL         = 2000 // characters
	maxPage        = 1 << 20
	maxTitle       = 200 // characters
	maxDescription = 400
	maxSite        = 80
	// fetchTimeout bounds the fetch of a page and its picture. The call that waits for it ends after 30 seconds.
	fetchTimeout = 10 * time.Second
	storeTimeout = 10 * time.Second
)

// page is what a preview shows of a page.
type page struct {
	title, description, site string
	picture                  *Picture // may be nil
}

func (p *page) cost() int {
	if p == nil || p.picture == nil {
		return 1 << 10
	}
	return 1<<10 + len(p.picture.JPEG)
}

var errBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "too many links are being read; try again", Retry: time.Second}

func isLink(address string) bool {
	if utf8.RuneCountInString(address) > maxURL || !message.IsLink(address) {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// page returns the page behind a link, from the cache if it was read lately. Calls for the same link share a fetch, which does not end with
// the call that began it, and counts for its user.
func (s *Service) page(ctx context.Context, u id.User, address string) (*page, error) {
	key, _, _ := strings.Cut(address, "#")
	if p, ok := s.pages.get(key); ok {
		return found(p)
	}
	flight := s.flights.DoChan(key, func() (any, error) {
		if p, ok := s.pages.get(key); ok { // an earlier flight has just ended
			return p, nil
		}
		if !s.fetching.TryAcquire(u) {
			return nil, errBusy
		}
		began := time.Now()
		defer func() { s.fetching.Release(u, time.Since(began) > slowFetch) }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		p := s.fetch(ctx, key)
		age := pageAge
		if p == nil {
			age = noPageAge
		}
		s.pages.put(key, p, p.cost(), age)
		return p, nil
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return found(r.Val.(*page))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// found is the same error for all links without a preview: it does not tell what is in the server's network.
func found(p *page) (*page, error) {
	if p == nil {
		return nil, errNoPreview
	}
	return p, nil
}

// fetch reads a page and its picture. It returns nil if the page cannot be read, or has no title.
func (s *Service) fetch(ctx context.Context, address string) *page {
	d, err := s.fetcher.Fetch(ctx, egress.Request{URL: address, Types: []string{"text/html", "application/xhtml+xml"}, MaxBody: maxPage, Truncate: true})
	if err != nil {
		s.deps.Logger.Debug("a link has no preview", "error", err)
		return nil
	}
	meta := readMeta(d.Body, d.ContentType)
	p := &page{title: line(meta.title, maxTitle), description: line(meta.description, maxDescription), site: line(meta.site, maxSite)}
	if !message.HasVisible([]byte(p.title)) {
		return nil
	}
	if picture, err := d.URL.Parse(meta.picture); err == nil && meta.picture != "" {
		if p.picture, err = s.fetchPicture(ctx, picture.String()); err != nil {
			s.deps.Logger.Debug("a link preview has no picture", "error", err)
		}
	}
	return p
}

// meta is what the head of a page says of it.
type meta struct {
	title, description, site, picture string
}

// readMeta reads the head of a page: OpenGraph, and otherwise <title> and the description. It reads no further than to the body.
func readMeta(body []byte, contentType string) meta {
	encoding, _, _ := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	var named = map[string]string{}
	title := ""
	z := html.NewTokenizer(encoding.NewDecoder().Reader(bytes.NewReader(body)))
	for inTitle := false; ; {
		switch z.Next() {
		case html.ErrorToken: // the end
			return metaOf(named, title)
		case html.TextToken:
			if inTitle && title == "" {
				title = string(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			inTitle = tag == atom.Title
			if tag == atom.Body {
				return metaOf(named, title)
			}
			if tag == atom.Meta {
				addMeta(named, z, more)
			}
		case html.EndTagToken:
			inTitle = false
			if name, _ := z.TagName(); atom.Lookup(name) == atom.Head {
				return metaOf(named, title)
			}
		}
	}
}

// addMeta adds the value of a <meta>, unless an earlier one has the name.
func addMeta(named map[string]string, z *html.Tokenizer, more bool) {
	name, value := "", ""
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "property", "name":
			name = strings.ToLower(strings.TrimSpace(string(v)))
		case "content":
			value = string(v)
		}
	}
	if wanted[name] && named[name] == "" {
		named[name] = value
	}
}

// wanted are the names of <meta> that are read.
var wanted = map[string]bool{"og:title": true, "og:description": true, "og:site_name": true, "og:image": true, "og:image:url": true, "og:image:secure_url": true,
	"twitter:title": true, "twitter:description": true, "twitter:image": true, "description": true}

func metaOf(named map[string]string, title string) meta {
	first := func(names ...string) string {
		for _, n := range names {
			if v := strings.TrimSpace(named[n]); v != "" {
				return v
			}
		}
		return ""
	}
	m := meta{title: first("og:title", "twitter:title"), description: first("og:description", "twitter:description", "description"), site: first("og:site_name"),
		picture: first("og:image:secure_url", "og:image", "og:image:url", "twitter:image")}
	if m.title == "" {
		m.title = title
	}
	return m
}

// line makes a text of a page one line of at most so many characters that may stand among others; empty if it may not.
func line(text string, most int) string {
	if len(text) > 16*most { // before the work for each character
		text = text[:16*most]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = strings.TrimSpace(excerpt.Of(text, most-1)) + "…"
	}
	if !message.IsLine(text) {
		return ""
	}
	return text
}
