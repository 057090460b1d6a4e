package edge

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// PurgesPath is where edges ask what has changed.
const PurgesPath = "/v1/edge/purges"

// Tags name what changes.
//
// PostTag is a post that was hidden, deleted or edited. FileTag is an upload that was deleted. VideoTag is a video that was deleted, or whose subtitles changed.
func PostTag(n string) string  { return "post/" + n }
func FileTag(n string) string  { return "file/" + n }
func VideoTag(n string) string { return "video/" + n }

const (
	// holdTime is how long a question waits for something to change.
	holdTime = 300 * time.Millisecond
	// syncTimeout bounds the time in which this node reads what has changed on others.
	syncTimeout = time.Second
	// kept changes are those that an edge may ask for; beyond them, it asks for all its URLs again.
	kept = 4096
)

// purgesAnswer is the answer to an edge.
type purgesAnswer struct {
	// Position behind the changes.
	Position string `json:"position"`
	// Reset: the changes behind the edge's position are not known.
	Reset bool `json:"reset,omitempty"`
	// Purged has the tags of what has changed.
	Purged []string `json:"purged,omitempty"`
	// CompleteMs is up to when the changes are complete, in milliseconds since the question came.
	CompleteMs int64 `json:"complete_ms"`
}

// Purges tells edges what has changed, on the side of the origin.
type Purges struct {
	secret [sha256.Size]byte
	off    bool
	// sync returns when Add was called for all that was committed on other nodes before its call.
	sync func(ctx context.Context) error

	mu    sync.Mutex    // guards all below
	epoch string        // of the numbers: of this process, or from when it missed changes
	last  uint64        // number of the latest change
	tags  []string      // of the latest changes
	added chan struct{} // closed with the next change
}

// NewPurges makes the side of the origin. Without a secret, no edge is told.
func NewPurges(secret string, sync func(ctx context.Context) error) *Purges {
	return &Purges{secret: sha256.Sum256([]byte(secret)), off: secret == "", sync: sync, epoch: rand.Text(), added: make(chan struct{})}
}

// Add tells edges that something has changed. It is called after the commit.
func (p *Purges) Add(tags ...string) {
	if p.off || len(tags) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last += uint64(len(tags))
	p.tags = append(p.tags, tags...)
	if len(p.tags) >= 2*kept {
		p.tags = append([]string(nil), p.tags[len(p.tags)-kept:]...)
	}
	p.wake()
}

// Reset tells edges that changes are not known.
func (p *Purges) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch, p.tags = rand.Text(), nil
	p.wake()
}

// wake answers those who wait. The caller holds mu.
func (p *Purges) wake() {
	close(p.added)
	p.added = make(chan struct{})
}

// since returns what has changed since a position, and a channel that is closed with the next change.
func (p *Purges) since(position string) (a purgesAnswer, next <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.Position = p.epoch + "." + strconv.FormatUint(p.last, 10)
	epoch, number, _ := strings.Cut(position, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	if epoch != p.epoch || err != nil || n > p.last || p.last-n > uint64(len(p.tags)) {
		a.Reset = true
	} else {
		a.Purged = append(a.Purged, p.tags[uint64(len(p.tags))-(p.last-n):]...)
	}
	return a, p.added
}

// IsEdge reports whether a request is of an edge. A nil Purges has none.
func (p *Purges) IsEdge(r *http.Request) bool {
	if p == nil || p.off {
		return false
	}
	secret, ok := strings.CutPrefix(cmp.Or(r.Header.Get("Proxy-Authorization"), r.Header.Get("Authorization")), "Bearer ") // an upload has an Authorization of its client
	sum := sha256.Sum256([]byte(secret))
	return ok && subtle.ConstantTimeCompare(sum[:], p.secret[:]) == 1
}

var errNotEdge = errs.New(errs.Denied, "no_key", "this is for edges: set edge.secret to the same on edges and on the other nodes")

// ServeHTTP answers an edge when something changes, or soon.
func (p *Purges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !p.IsEdge(r) {
		errs.WriteHTTP(w, errNotEdge)
		return
	}
	began := time.Now()
	position := r.URL.Query().Get("after")
	if a, next := p.since(position); !a.Reset && len(a.Purged) == 0 {
		hold := time.NewTimer(holdTime)
		defer hold.Stop()
		select {
		case <-next:
		case <-hold.C:
		case <-r.Context().Done():
			return
		}
	}
	complete := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), syncTimeout)
	defer cancel()
	if err := p.sync(ctx); err != nil {
		errs.WriteHTTP(w, errs.Wrap(errs.Unavailable, "storage", "this node cannot read what has changed; ask another", err))
		return
	}
	a, _ := p.since(position)
	a.CompleteMs = complete.Sub(began).Milliseconds()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the edge may have gone
}
