package edge

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// ReportPath is where edges say what they are, and how they are.
const ReportPath = "/v1/edge/report"

const (
	// reportInterval is how often an edge reports.
	reportInterval = time.Second
	// reportLife is for how long a report counts. An edge that is lost is offered to clients for so long.
	reportLife = 3 * time.Second
	// maxEdges of an origin; it refuses the reports of more.
	maxEdges = 64
	// maxReport bounds the figures of a report, in bytes; maxEdgeName and maxEdgeURL its texts.
	maxReport, maxEdgeName, maxEdgeURL = 256 << 10, 128, 256
)

// Report is what an edge says of itself.
type Report struct {
	// Name of the node.
	Name string
	// URL is where clients reach it, as https://edge1.example.com; "": they are not told of it.
	URL string
	// Region of the edge; "" if the operator has none.
	Region string
	// Connections are the open ones, of at most Capacity.
	Connections, Capacity int64
	// Leaving: the edge stops.
	Leaving bool
	// Figures for operators, as the one who reads them encodes them.
	Figures []byte
}

// query of the request with a report.
func (r *Report) query() string {
	return url.Values{"name": {r.Name}, "url": {r.URL}, "region": {r.Region}, "connections": {strconv.FormatInt(r.Connections, 10)}, "capacity": {strconv.FormatInt(r.Capacity, 10)}, "leaving": {strconv.FormatBool(r.Leaving)}}.Encode()
}

var errBadReport = errs.New(errs.Invalid, "bad_edge_report", "this is no report of an edge; run the same version on edges and on the other nodes")

// parseReport reads a report.
func parseReport(q url.Values, figures []byte) (*Report, error) {
	r := &Report{Name: q.Get("name"), URL: q.Get("url"), Region: q.Get("region"), Leaving: q.Get("leaving") == "true", Figures: figures}
	var faults [2]error
	r.Connections, faults[0] = strconv.ParseInt(q.Get("connections"), 10, 64)
	r.Capacity, faults[1] = strconv.ParseInt(q.Get("capacity"), 10, 64)
	if faults[0] != nil || faults[1] != nil || r.Name == "" || max(len(r.Name), len(r.Region)) > maxEdgeName || r.URL != "" && !isAddress(r.URL) {
		return nil, errBadReport
	}
	return r, nil
}

// isAddress reports whether a text is an address without a path. It goes into the content security policy of pages.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxEdgeURL && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && text == u.Scheme+"://"+u.Host &&
		!strings.ContainsFunc(u.Host, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune(".-:[]", c) })
}

// Registry has the edges that report to this node, on the side of the origin.
type Registry struct {
	purges  *Purges
	clock   clock.Clock
	changed func()

	mu    sync.Mutex // guards edges
	edges map[edgeKey]*reported
}

// edgeKey tells edges apart. Two that were given one name are two as long as clients reach them by different addresses.
type edgeKey struct{ name, url string }

// reported is a report, and when it came.
type reported struct {
	Report
	at time.Time
}

// NewRegistry makes a registry of those edges that know the secret of purges. changed is called when an edge comes or goes; it does not block.
func NewRegistry(purges *Purges, now clock.Clock, changed func()) *Registry {
	return &Registry{purges: purges, clock: now, changed: changed, edges: map[edgeKey]*reported{}}
}

// Live returns the edges that have reported lately, by name and URL.
func (g *Registry) Live() (list []Report) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropSilent()
	for _, e := range g.edges {
		list = append(list, e.Report)
	}
	slices.SortFunc(list, func(a, b Report) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL)) })
	return list
}

// dropSilent forgets the edges that have not reported. The caller holds mu.
func (g *Registry) dropSilent() {
	now := g.clock.Now()
	for key, e := range g.edges {
		if now.Sub(e.at) >= reportLife {
			delete(g.edges, key)
		}
	}
}

// add notes a report.
func (g *Registry) add(r *Report) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropSilent()
	key := edgeKey{r.Name, r.URL}
	old := g.edges[key]
	switch {
	case r.Leaving:
		delete(g.edges, key)
	case old == nil && len(g.edges) >= maxEdges:
		return errs.New(errs.Unavailable, "busy", "too many edges report to this node; give some of them other origins")
	default:
		g.edges[key] = &reported{*r, g.clock.Now()}
	}
	if (old == nil) != r.Leaving || old != nil && old.Region != r.Region {
		g.changed()
	}
	return nil
}

// ServeHTTP reads a report of an edge.
func (g *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !g.purges.IsEdge(r) {
		errs.WriteHTTP(w, errNotEdge)
		return
	}
	figures, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	var report *Report
	if err != nil {
		err = errBadReport
	} else if report, err = parseReport(r.URL.Query(), figures); err == nil {
		err = g.add(report)
	}
	if err != nil {
		errs.WriteHTTP(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
