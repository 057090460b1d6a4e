// Package linkpreview reads linked pages for the sender of a message: title, description, site and picture. The
// sender's client asks for the preview while the user types, and sends it in the message. So nothing is fetched for readers, and the
// preview is the same in all copies of a message (docs/decisions/0077-link-previews.md).
//
// The server signs a preview: its content and the user who asked for it. Package chat checks the signature before it stores the
// message, so nobody can forge a preview. Its picture is an upload of that user.
//
// Pages are hostile. Requests go through egress, to public addresses only. The bytes read of a page and of a picture, and the number of concurrent reads, are bounded. All
// methods are safe for concurrent use.
package linkpreview

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"
)

// Config of link previews. The zero value is the documented default.
type Config struct {
	// Off: no link is previewed, and the server reads no page.
	Off bool `yaml:"off"`
	// InternalHosts are hosts, such as wiki.example.com or 10.0.0.7:8080, whose pages are previewed although they are in a private network
	// or on this machine. Whoever sends messages can then read their titles. Default none.
	InternalHosts []string `yaml:"internal_hosts"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	if err := (egress.FetchConfig{InternalHosts: c.InternalHosts}).Check(); err != nil {
		return fmt.Errorf("link_previews.internal_hosts: %w", err)
	}
	return nil
}

// Deps are what a Service needs.
type Deps struct {
	// StorePicture stores a picture of a preview as a user's upload.
	StorePicture func(ctx context.Context, u id.User, p Picture) (id.Upload, error)
	// IsOff reports whether a user wants no previews.
	IsOff func(ctx context.Context, u id.User) (bool, error)
	// OwnHosts are the names of this deployment, whose pages have no previews.
	OwnHosts []string
	// Secret signs previews; the same on all nodes.
	Secret []byte
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls  *outgoing.Calls
	Clock  clock.Clock
	Logger *slog.Logger
}

// Limits of the caches and of the work that is done at once.
const (
	maxPages     = 1000
	maxPageBytes = 32 << 20 // pictures in the cache
	maxPreviews  = 10_000
	pageAge      = 30 * time.Minute
	noPageAge    = time.Minute
	maxFetches   = 16
	// firstFetches and userFetches are how many pages are read at once for one user, at first and if the pages are quick. Pages that take slowFetch are slow.
	firstFetches = 4
	userFetches  = 8
	slowFetch    = 3 * time.Second
	maxDecodings = 2
)

// Service makes previews and checks them.
type Service struct {
	deps     Deps
	config   Config
	fetcher  *egress.Fetcher
	fetching *bulkhead.Bulkhead[id.User] // a slot for each page that is read
	decoding chan struct{}               // a slot for each picture that is decoded
	flights  singleflight.Group
	pages    *cache[string, *page] // by URL; nil for those without a preview
	previews *cache[previewKey, *chatv1.LinkPreview]
	storing  singleflight.Group
}

// previewKey of a preview: the user, because the picture is the user's, and the URL.
type previewKey struct {
	user id.User
	url  string
}

// New creates the service.
func New(deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	return &Service{deps: deps, config: config, fetcher: egress.NewFetcher(egress.FetchConfig{InternalHosts: config.InternalHosts, OwnHosts: deps.OwnHosts, Calls: deps.Calls}),
		fetching: bulkhead.New[id.User](bulkhead.Config{Slots: maxFetches, First: firstFetches, Most: userFetches}), decoding: make(chan struct{}, maxDecodings),
		pages: newCache[string, *page](deps.Clock, maxPages, maxPageBytes), previews: newCache[previewKey, *chatv1.LinkPreview](deps.Clock, maxPreviews, maxPreviews)}, nil
}

// signature of the server over a preview for a user.
func (s *Service) signature(u id.User, p *chatv1.LinkPreview) []byte {
	h := hmac.New(sha256.New, s.deps.Secret)
	for _, text := range []string{p.Url, p.Title, p.Description, p.SiteName} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	fmt.Fprintf(h, "%d %d %d %d", u, p.Picture, p.Width, p.Height)
	return h.Sum(nil)[:18]
}

// Verify fails unless a user got this preview from Preview.
func (s *Service) Verify(u id.User, p *chatv1.LinkPreview) error {
	if !hmac.Equal(p.Signature, s.signature(u, p)) {
		return errs.New(errs.Invalid, "bad_preview", "send a link preview as PreviewLink returned it to this user")
	}
	return nil
}

var (
	errOff       = errs.New(errs.Denied, "previews_off", "link previews are switched off, for this server or in your settings")
	errNoPreview = errs.New(errs.NotFound, "no_preview", "this link has no preview")
)

// Preview returns a preview of the page behind a link, for messages of a user.
func (s *Service) Preview(ctx context.Context, u id.User, r *chatv1.PreviewLinkRequest) (*chatv1.LinkPreview, error) {
	if s.config.Off {
		return nil, errOff
	}
	if off, err := s.deps.IsOff(ctx, u); err != nil || off {
		if err == nil {
			err = errOff
		}
		return nil, err
	}
	if !isLink(r.Url) {
		return nil, errs.New(errs.Invalid, "bad_link_url", "give an address that begins with http:// or https://, of at most 2,000 characters")
	}
	k := previewKey{u, r.Url}
	if p, ok := s.previews.get(k); ok {
		return proto.Clone(p).(*chatv1.LinkPreview), nil
	}
	page, err := s.page(ctx, u, r.Url)
	if err != nil {
		return nil, err
	}
	made, err, _ := s.storing.Do(fmt.Sprintf("%d %s", u, r.Url), func() (any, error) {
		if p, ok := s.previews.get(k); ok { // an earlier one has just ended
			return p, nil
		}
		return s.preview(context.WithoutCancel(ctx), k, page)
	})
	if err != nil {
		return nil, err
	}
	return proto.Clone(made.(*chatv1.LinkPreview)).(*chatv1.LinkPreview), nil
}

// preview makes a preview of a page for a user, and stores its picture. A preview whose picture cannot be stored has none.
func (s *Service) preview(ctx context.Context, k previewKey, page *page) (*chatv1.LinkPreview, error) {
	p := &chatv1.LinkPreview{Url: k.url, Title: page.title, Description: page.description, SiteName: page.site}
	if page.picture != nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		upload, err := s.deps.StorePicture(ctx, k.user, *page.picture)
		if err == nil {
			p.Picture, p.Width, p.Height = uint64(upload), uint32(page.picture.Width), uint32(page.picture.Height)
		} else if !errs.IsRefusal(err) { // a refusal is the user's quota
			s.deps.Logger.Warn("the picture of a link preview could not be stored; it has none", "error", err)
		}
	}
	p.Signature = s.signature(k.user, p)
	s.previews.put(k, p, 1, pageAge)
	return p, nil
}
