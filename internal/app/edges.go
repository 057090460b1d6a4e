package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/service/operation"
	"github.com/rialto-im/rialto/internal/transport/edge"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// Folders in a data directory: the copies of an edge, and those of a node whose files are in S3.
const (
	edgeDir      = "edge"
	fileCacheDir = "file-cache"
)

// purgeEvent tells the other nodes what edges, and their own caches of files, have to forget. Its detail is a tag.
const purgeEvent = "edge_purge"

// tellsOf reports whether somebody keeps copies of what has a tag: edges of all, and nodes of the files in S3.
func (n *Node) tellsOf(tag string) bool {
	return n.config.Edge.Secret != "" || n.config.S3.Endpoint != "" && !strings.HasPrefix(tag, edge.PostTag(""))
}

// addPurge tells all nodes what edges have to forget, in the transaction of the change. purged follows after the commit.
func (n *Node) addPurge(ctx context.Context, tx *sql.Tx, tag string) error {
	if !n.tellsOf(tag) {
		return nil
	}
	return n.events.Add(ctx, tx, clusterevent.Event{Kind: purgeEvent, Detail: tag})
}

// purged tells the edges that ask this node, and wakes the other nodes.
func (n *Node) purged(tag string) {
	if n.tellsOf(tag) {
		n.purges.Add(tag)
		n.uncache(tag)
		n.events.Notify()
	}
}

// handlePurge tells the edges that ask this node what was changed by another.
func (n *Node) handlePurge(e clusterevent.Event) {
	if e.Kind == purgeEvent {
		n.purges.Add(e.Detail)
		n.uncache(e.Detail)
	}
}

// postCommitted is called after the commit of a changed post.
func (n *Node) postCommitted(post uint64) { n.purged(edge.PostTag(strconv.FormatUint(post, 10))) }

// onVideo is called in the transaction of a changed video.
func (n *Node) onVideo(ctx context.Context, tx *sql.Tx, video uint64) error {
	if err := n.searchVideo(ctx, tx, video); err != nil {
		return err
	}
	return n.addPurge(ctx, tx, edge.VideoTag(strconv.FormatUint(video, 10)))
}

// videoCommitted is called after the commit.
func (n *Node) videoCommitted(video uint64) { n.purged(edge.VideoTag(strconv.FormatUint(video, 10))) }

// fileDropped is called when a file cannot be read any more.
func (n *Node) fileDropped(ctx context.Context, upload id.Upload) error {
	tag := edge.FileTag(upload.String())
	if !n.tellsOf(tag) {
		return nil
	}
	if err := n.db.Write(ctx, func(tx *sql.Tx) error { return n.addPurge(ctx, tx, tag) }); err != nil {
		return err
	}
	n.purged(tag)
	return nil
}

// commentShows reports whether a comment names an upload, and neither it nor its post is deleted or hidden.
func (n *Node) commentShows(ctx context.Context, comment uint64, upload id.Upload) (bool, error) {
	shows, post, err := n.comments.ShowsFile(ctx, comment, upload)
	if err != nil || !shows || post == 0 {
		return shows, err
	}
	return n.feed.IsShown(ctx, post)
}

// openEdge makes a node that has no database, and serves files from copies.
func (n *Node) openEdge(ctx context.Context) error {
	if err := n.lockDir(ctx); err != nil {
		return err
	}
	if err := n.bind(ctx); err != nil {
		return err
	}
	n.unauthenticated, n.fileRequests, n.streams = n.config.Input.Connections(), n.config.Input.Files(), n.config.Input.Streams()
	n.open, n.admission = &openConnections{most: maxOpenConnections()}, newAdmission(cpuTime, time.Now, n.threads)
	var err error
	n.edge, err = edge.New(edge.Deps{Dir: n.dir.join(edgeDir), Calls: n.outgoing, Network: n.networkOf, Report: n.edgeReport, Clock: n.clock, Logger: n.logger}, n.config.Edge)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, n.edge.Close)
	telemetry.ThisBuild().Info(n.registry)
	n.registry.MustRegister(n.outgoing)
	n.registerListenerMetrics()
	n.registerFileCacheMetrics(n.edge.Cache())
	n.registerEdgeMetrics()
	n.stack.Start("edge", n.edge.Run)
	n.serving = true
	n.startHTTP("admin", n.adminListener, n.edgeAdminHandler(), false, func() {})
	n.startHTTP("listener", &countingListener{n.listener, n.unauthenticated, n.config.Plaintext, n.open, n.admission}, n.edgeHandler(), n.config.TLS.Cert != "", func() {})
	return nil
}

// originsOf is a list of an address; empty if there is none.
func originsOf(address string) []string {
	if address == "" {
		return nil
	}
	return []string{address}
}

// fileOrigins are the addresses from which a page may get files: media.origin, and those of live edges.
func (n *Node) fileOrigins() []string {
	return append(originsOf(n.config.Media.Origin), n.discovery.EdgeAddresses()...)
}

// edgeReport is what this edge tells the other nodes.
func (n *Node) edgeReport() edge.Report {
	r := edge.Report{Name: n.name, URL: n.config.Public.URL, Region: n.config.Public.Region, Connections: n.open.here.Load(), Capacity: n.open.most, Leaving: n.leaving.Load()}
	r.Figures = operation.Encode(n.describe(), n.registry, n.logger)
	return r
}

// maxEdgeReports bounds what a node says of its edges, in bytes: with its own figures, it is one message of the bus.
const maxEdgeReports = bus.MaxData / 2

// edgeReports are what the edges of this node say to operators. Beyond maxEdgeReports, edges are listed without their figures. Of several edges of one name, each but
// the first is named with its URL.
func (n *Node) edgeReports() (list []*operationv1.NodeReport) {
	size, last := 0, ""
	for _, e := range n.edges.Live() {
		r := &operationv1.NodeReport{}
		if err := proto.Unmarshal(e.Figures, r); err != nil {
			r = &operationv1.NodeReport{Error: "its report cannot be read; run the same version on edges and on the other nodes"}
		}
		if size += proto.Size(r); size > maxEdgeReports {
			size -= proto.Size(r)
			r = &operationv1.NodeReport{Error: "its figures are left out, since this node's edges have too many; give some edges other origins"}
		}
		r.Name, r.Answered = e.Name, r.Error == ""
		if e.Name == last {
			r.Name += " (" + e.URL + ")"
		}
		last = e.Name
		list = append(list, r)
	}
	return list
}

// edgeHandler serves the public listener of an edge: files, uploads, and the web app.
func (n *Node) edgeHandler() http.Handler {
	stored := cors([]string{"*"}, n.limitFileRequests(n.edge), n.logger) // the app's page has another origin; only the signed URL grants access, without a cookie
	pages := webApp(func() []string { return originsOf(n.config.Media.Origin) }, n.extensions)
	page := n.limitFileRequests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(outputlimit.WithWriteDeadlines(w, 0), r) }))
	return n.limitStreams(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch p := r.URL.Path; {
		case p == "/healthz" && isRead(r):
			_, _ = w.Write([]byte("ok\n")) // the client may have gone
		case p == "/readyz" && isRead(r):
			if n.leaving.Load() || !n.edge.Follows() {
				http.Error(w, "not ready", http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ready\n")) // the client may have gone
		case strings.HasPrefix(p, edge.MediaPrefix), strings.HasPrefix(p, edge.VideoPrefix), strings.HasPrefix(p, edge.S3Prefix):
			stored.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/v1/"), strings.HasPrefix(p, "/rialto"):
			http.Error(w, "this node does not serve this; its role is edge", http.StatusNotFound)
		default:
			page.ServeHTTP(w, r)
		}
	}))
}

// edgeAdminHandler serves the listener for operators of an edge.
func (n *Node) edgeAdminHandler() http.Handler {
	mux := n.adminMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		state := map[string]any{"ready": true, "node": n.name, "behind_seconds": n.edge.Behind().Seconds()}
		if n.leaving.Load() || !n.edge.Follows() {
			state["ready"] = false
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(state) // the client may have gone
	})
	return mux
}

// registerFileCacheMetrics registers the metrics of the cache of files, if there is one.
func (n *Node) registerFileCacheMetrics(c *blockcache.Cache) {
	if c == nil {
		return
	}
	s := c.Stats()
	for result, counter := range map[string]*atomic.Int64{"hit": &s.Hits, "joined": &s.Joined, "miss": &s.Misses} {
		telemetry.CountBy(n.registry, "file_cache_reads_total", "Blocks of files that readers needed: on disk, being fetched for another reader, or fetched for this one.", "result", result, read(counter))
	}
	for from, counter := range map[string]*atomic.Int64{"cache": &s.ReadBytes, "origin": &s.FetchedBytes} {
		telemetry.CountBy(n.registry, "file_cache_bytes_total", "Bytes given to readers from the cache, and bytes that came from the origin.", "from", from, read(counter))
	}
	telemetry.Count(n.registry, "file_cache_fetches_total", "Blocks that were requested of the origin.", read(&s.Fetches))
	telemetry.Count(n.registry, "file_cache_fetches_failed_total", "Blocks that the origin did not send.", read(&s.FailedFetches))
	telemetry.Count(n.registry, "file_cache_evictions_total", "Blocks that made room for others.", read(&s.Evictions))
	telemetry.Count(n.registry, "file_cache_damaged_total", "Blocks on disk that were damaged or gone, and were fetched again.", read(&s.Damaged))
	telemetry.Count(n.registry, "file_cache_writes_failed_total", "Blocks that could not be stored.", read(&s.FailedWrites))
	telemetry.Gauge(n.registry, "file_cache_blocks", "Blocks of files in the cache.", func() float64 {
		blocks, _ := c.Usage()
		return float64(blocks)
	})
	telemetry.Gauge(n.registry, "file_cache_bytes", "Disk that the cache uses.", func() float64 {
		_, bytes := c.Usage()
		return float64(bytes)
	})
}

// registerEdgeMetrics registers the metrics of an edge.
func (n *Node) registerEdgeMetrics() {
	s := n.edge.Stats()
	for result, counter := range map[string]*atomic.Int64{"served": &s.Served, "refused": &s.Refused, "failed": &s.Failed} {
		telemetry.CountBy(n.registry, "edge_requests_total", "Requests for files: served, refused, or failed because no origin answered.", "result", result, read(counter))
	}
	for result, counter := range map[string]*atomic.Int64{"sent": &s.Uploads, "refused": &s.RefusedUploads, "failed": &s.FailedUploads} {
		telemetry.CountBy(n.registry, "edge_uploads_total", "Uploads of files and parts: sent to an origin, refused, or failed because no origin answered.", "result", result, read(counter))
	}
	telemetry.Count(n.registry, "edge_authorizations_total", "Questions to an origin whether a URL may be served.", read(&s.Asked))
	telemetry.Count(n.registry, "edge_purges_total", "Posts, videos and files that an origin named as changed.", read(&s.Purged))
	telemetry.Count(n.registry, "edge_resets_total", "Times that an origin could not name all changes, and all URLs were asked about again.", read(&s.Resets))
	telemetry.Gauge(n.registry, "edge_lag_seconds", "How old the latest word of an origin about changes is; beyond 0.8, each file is asked about.", func() float64 { return n.edge.Behind().Seconds() })
}
