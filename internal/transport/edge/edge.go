// Package edge serves files, pictures and videos near their viewers, from copies on the disk of a node that has no database.
//
// An edge asks an origin, a node with the role api, about each signed URL once: whether it is valid, and what its file is. It relies on the answer until the URL
// expires, or the origin says that something has changed (grants.go). The bytes come from the origin in blocks, each once for all viewers (package blockcache).
//
// An edge learns by long polls what was hidden, deleted or changed (follower.go). It then drops the permissions, copies and transfers concerned. An answer says up
// to when it is complete. If the latest answer is older than lease, the edge asks again before it serves. So hidden content is refused everywhere after a second, also
// by an edge that is disconnected, which then serves nothing.
//
// Uploads pass through an edge to an origin (upload.go); the edge keeps nothing of them.
//
// Purges is the origin's side: it tells edges what has changed. Only programs that know the shared secret are told.
//
// It uses its folder, and the origins by package egress. All methods are safe for concurrent use.
package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"golang.org/x/sync/singleflight"
)

// Config of edges, and of the nodes that serve them. The zero value is the documented default.
type Config struct {
	// Secret that edges and the other nodes share, at least 32 characters; default none: the node serves no edges.
	Secret string `yaml:"secret"`
	// Origins are the addresses of nodes with the role api, as https://api.example.com: each the address of one node, not of a balancer. An edge needs at least one.
	Origins []string `yaml:"origins"`
	// MaxBytes of files that an edge keeps in its data directory; 0 is 10 GiB.
	MaxBytes uint64 `yaml:"max_bytes"`
	// CDNMaxAge is how long a CDN in front of edges may cache files. Hidden files stay visible there for that long. Default 0: it caches no file that needs a signature.
	CDNMaxAge time.Duration `yaml:"cdn_max_age"`
}

// leastSecret is the length of the shortest secret.
const leastSecret = 32

// Check reports settings that are not valid.
func (c Config) Check() error {
	var faults []error
	if c.Secret != "" && len(c.Secret) < leastSecret {
		faults = append(faults, fmt.Errorf("edge.secret has fewer than %d characters", leastSecret))
	}
	for _, o := range c.Origins {
		if err := egress.CheckURL(o); err != nil {
			faults = append(faults, fmt.Errorf("edge.origins: %q: %w", o, err))
		}
	}
	return errors.Join(faults...)
}

// Deps are the dependencies of a Server.
type Deps struct {
	// Dir is the folder of the copies.
	Dir string
	// Calls has the circuit breakers of origins.
	Calls *outgoing.Calls
	// Network returns the network that a request comes from, whose uploads are bounded; none where it is that of a proxy. If nil, only all uploads together are.
	Network func(*http.Request) netip.Prefix
	// Report returns what the edge tells origins of itself. If nil, it tells them nothing.
	Report func() Report
	Clock  clock.Clock
	Logger *slog.Logger
}

const (
	// lease is for how long the latest word of the origin counts. With the time of a poll, it is less than the second in which a purge has to be everywhere.
	lease = 800 * time.Millisecond
	// askedLife is for how long an answer about a URL counts while the origin says nothing about changes.
	askedLife = 300 * time.Millisecond
	// refusalLife is for how long a refusal counts, so that one bad URL in a page does not reach the origin for each viewer.
	refusalLife = 300 * time.Millisecond
	// textLife is for how long a text counts that may change, such as the playlist of a video that is being processed.
	textLife = time.Second

	askTimeout = 10 * time.Second
	asksAtOnce = 64
	// Bounds of memory, in bytes. An entry without a text costs entryCost.
	maxGrants, maxRefusals, maxFiles = 32 << 20, 8 << 20, 64 << 20
	entryCost                        = 640
)

// Stats counts what an edge has done.
type Stats struct {
	// Served requests; Refused ones, by the origin or because the URL is none; and Failed ones, which the origin did not answer.
	Served, Refused, Failed atomic.Int64
	// Uploads that an origin has answered; RefusedUploads, which were none or too many; and FailedUploads, which no origin answered.
	Uploads, RefusedUploads, FailedUploads atomic.Int64
	// Asked are questions about URLs to the origin.
	Asked atomic.Int64
	// Purged are things that the origin named as changed. Resets are times that it could not name all, and all was asked again.
	Purged, Resets atomic.Int64
}

// streamer sends uploads to an origin: *egress.Servers.
type streamer interface {
	Stream(ctx context.Context, first uint32, u egress.Upload) (*egress.Answer, error)
	Close()
}

// Server is an edge.
type Server struct {
	deps    Deps
	config  Config
	cache   *blockcache.Cache
	origins *origins
	uploads streamer
	stats   Stats
	asks    singleflight.Group
	slots   chan struct{} // of asks
	// uploadSlots are those of uploads.
	uploadSlots *inputlimit.Connections
	started     time.Time
	// following is the index of the origin that the edge hears from.
	following atomic.Uint32

	mu       sync.Mutex // guards all below
	grants   lru[string, *grant]
	files    lru[string, *resource]
	refusals lru[string, *refusal]
	changes  changes
	running  map[string]*grant // by scope: those with transfers
}

// New makes an edge.
func New(deps Deps, config Config) (*Server, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if len(config.Origins) == 0 || config.Secret == "" {
		return nil, errors.New("an edge needs edge.origins and edge.secret")
	}
	origins, err := newOrigins(deps.Calls, config)
	if err != nil {
		return nil, err
	}
	uploads, err := newUploads(deps.Calls, config)
	if err != nil {
		return nil, err
	}
	cache, err := blockcache.Open(blockcache.Config{Dir: deps.Dir, MaxBytes: int64(min(config.MaxBytes, math.MaxInt64))}, deps.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{deps: deps, config: config, cache: cache, origins: origins, uploads: uploads, uploadSlots: inputlimit.NewConnections(uploadsOfNetwork, uploadsAtOnce), slots: make(chan struct{}, asksAtOnce), started: deps.Clock.Now(), running: map[string]*grant{}}
	s.grants, s.files, s.refusals = newLRU[string, *grant](maxGrants), newLRU[string, *resource](maxFiles), newLRU[string, *refusal](maxRefusals)
	return s, nil
}

// Cache of the edge's blocks.
func (s *Server) Cache() *blockcache.Cache { return s.cache }

// Stats of the edge.
func (s *Server) Stats() *Stats { return &s.stats }

// Close ends what is being fetched. Run has returned.
func (s *Server) Close() error {
	s.origins.servers.Close()
	s.uploads.Close()
	return s.cache.Close()
}

// Run follows what the origins hide and delete, and reviews transfers in progress, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { s.reviewAll(ctx) })
	if s.deps.Report != nil {
		work.Go(func() { s.reportAll(ctx) })
	}
	s.follow(ctx)
	return nil
}

// Behind is how old the latest word of an origin is; before the first one, how long the edge has been waiting for it.
func (s *Server) Behind() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.changes.asOf
	if since.IsZero() {
		since = s.started
	}
	return s.deps.Clock.Now().Sub(since)
}

// Follows reports whether the edge knows what has changed.
func (s *Server) Follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes.fresh(s.deps.Clock.Now())
}
