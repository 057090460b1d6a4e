package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/service/video"
	"github.com/rialto-im/rialto/internal/transport/edge"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
	"golang.org/x/time/rate"
)

// bind opens the listeners, and reads what they serve of the operator's. Connections wait until serve accepts them.
func (n *Node) bind(ctx context.Context) (err error) {
	if n.extensions, err = openWebExtensions(n.config.Web.Extensions); err != nil {
		return err
	}
	if n.adminListener, err = n.listenAdmin(ctx); err != nil {
		return err
	}
	n.closers = append(n.closers, closeListener(n.adminListener))
	var lc net.ListenConfig
	if n.listener, err = lc.Listen(ctx, "tcp", n.config.Listen); err != nil {
		return n.explainListen("listen", n.config.Listen, err)
	}
	n.closers = append(n.closers, closeListener(n.listener))
	return n.bindSockets(ctx)
}

// Address on which the node listens.
func (n *Node) Address() net.Addr { return n.listener.Addr() }

// AdminAddress for metrics, profiles, health and the operators' console.
func (n *Node) AdminAddress() net.Addr { return n.adminListener.Addr() }

// closeListener closes a listener, unless its HTTP server has closed it already.
func closeListener(l net.Listener) func() error {
	return func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// serve accepts connections.
func (n *Node) serve() {
	n.serving = true
	n.startHTTP("admin", n.adminListener, n.adminHandler(), false, func() {})
	n.startHTTP("listener", &countingListener{n.listener, n.unauthenticated, n.config.Plaintext, n.open, n.admission}, n.publicHandler(), n.config.TLS.Cert != "", n.gateway.ReleaseHeld)
	if n.tcpListener != nil {
		n.startSockets("TCP listener", n.tcpListener, n.config.TCP.ProxyProtocol, n.gateway.ServeTCP)
	}
	if n.stompListener != nil {
		n.startSockets("STOMP listener", n.stompListener, n.config.Stomp.ProxyProtocol, n.stomp.ServeTCP)
	}
}

// explainListen makes the error of an address that cannot be bound: which one, why, and what to do.
func (n *Node) explainListen(name, address string, err error) error {
	choose := "choose another address with --" + name
	if strings.Contains(name, ".") {
		choose = "choose another address in the setting " + name
	}
	why, do := err, choose
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		why = call.Err
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		why, do = errors.New("another program has it"), "stop that, or "+choose
		if own := n.listenerOf(err); own != "" {
			why, do = fmt.Errorf("it is the address of this server's own listener %s", own), choose
		}
	}
	return fmt.Errorf("%s: %s cannot be listened on: %w; %s", name, address, why, do)
}

// listenerOf returns the setting of the node's listener that has the address which an error of net names; "" if none has.
func (n *Node) listenerOf(err error) string {
	var taken *net.OpError
	if !errors.As(err, &taken) || taken.Addr == nil {
		return ""
	}
	for name, l := range map[string]net.Listener{"listen": n.listener, "admin": n.adminListener, "tcp.listen": n.tcpListener} {
		if l != nil && l.Addr().String() == taken.Addr.String() {
			return name
		}
	}
	return ""
}

// listenAdmin binds the configured address, or else the port above the listener's, or else a free one, so that several servers run on
// one machine without settings.
func (n *Node) listenAdmin(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if n.config.Admin != "" {
		l, err := lc.Listen(ctx, "tcp", n.config.Admin)
		if err != nil {
			return nil, n.explainListen("admin", n.config.Admin, err)
		}
		return l, nil
	}
	_, port, err := net.SplitHostPort(n.config.Listen)
	if err != nil {
		return nil, err
	}
	if number, err := strconv.Atoi(port); err == nil && number > 0 && number < 65535 {
		if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(number+1))); err == nil {
			return l, nil
		}
	}
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

// startHTTP serves HTTP on a listener as a part of the stack. When it stops, it calls release first, which ends requests that last.
func (n *Node) startHTTP(name string, l net.Listener, handler http.Handler, tls bool, release func()) {
	server := newHTTPServer(handler, tls, n.logger)
	n.stack.Start(name, func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { // ends when the server is shut down
			if tls {
				served <- server.ServeTLS(l, n.config.TLS.Cert, n.config.TLS.Key)
			} else {
				served <- server.Serve(l)
			}
		}()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		release()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := server.Shutdown(end)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // calls that take longer are cut; a retry is harmless
		}
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	})
}

// httpErrorLog is the error log of an HTTP server: mistakes of clients are debug messages, panics are errors.
type httpErrorLog struct{ logger *slog.Logger }

func (c httpErrorLog) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	if strings.Contains(text, "panic serving") {
		c.logger.Error("a request panicked", "detail", text)
	} else {
		c.logger.Debug("a connection failed", "detail", text)
	}
	return len(b), nil
}

// publicHandler serves the public listener.
func (n *Node) publicHandler() http.Handler {
	allowed := n.config.Gateway.Origins
	if n.config.Media.Origin != "" {
		allowed = []string{"*"} // the app's page has another origin; only the signed URL grants access, without a cookie
	}
	calls, files := cors(n.config.Gateway.Origins, n.rpc.Handler(), n.logger), cors(allowed, n.limitFileRequests(n.media.Handler()), n.logger)
	videos := cors(allowed, n.limitFileRequests(n.videos.Handler()), n.logger)
	pages, document := webApp(n.fileOrigins, n.extensions), openAPI()
	events := cors(n.config.Gateway.Origins, http.HandlerFunc(n.gateway.ServeEvents), n.logger)
	page := n.limitFileRequests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = outputlimit.WithWriteDeadlines(w, 0)
		if r.URL.Path == "/v1/openapi.json" {
			document.serve(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}))
	return n.limitStreams(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch p := r.URL.Path; {
		case p == "/healthz" && isRead(r):
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte("ok\n")) // the client may have gone
		case p == "/readyz" && isRead(r):
			n.readyPublic(w, r)
		case !n.config.Has(roleOf(p)):
			http.Error(w, "this node does not serve this; its roles are "+strings.Join(n.config.Roles, ", "), http.StatusNotFound)
		case p == "/v1/socket":
			n.proxySigns.request(r)
			n.gateway.ServeHTTP(w, r)
		case p == "/v1/events" && (r.Method == http.MethodGet || r.Method == http.MethodOptions):
			n.proxySigns.request(r)
			events.ServeHTTP(w, r)
		case p == stompPath && n.config.Stomp.WebSocket:
			n.proxySigns.request(r)
			n.stomp.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/rialto."):
			n.proxySigns.request(r)
			calls.ServeHTTP(w, r)
		case p == edge.PurgesPath && isRead(r):
			n.purges.ServeHTTP(w, r)
		case p == edge.ReportPath && r.Method == http.MethodPost:
			n.edges.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/v1/media/"), strings.HasPrefix(p, "/v1/tus/"), strings.HasPrefix(p, "/rialto-uploads/"):
			files.ServeHTTP(w, r)
		case strings.HasPrefix(p, video.Prefix):
			videos.ServeHTTP(w, r)
		default:
			page.ServeHTTP(w, r)
		}
	}))
}

// stompPath is the address of STOMP over WebSocket.
const stompPath = "/v1/stomp"

// Calls of these packages of the API are also answered by nodes with the role chat or feed.
var (
	chatPackages = []string{"bridge", "chat", "presence", "transaction"}
	feedPackages = []string{"comment", "engagement", "feed", "notification", "ranking"}
)

// roleOf returns the role that serves a path.
func roleOf(path string) string {
	if path == "/v1/socket" || path == "/v1/events" || path == stompPath {
		return config.RoleGateway
	}
	if name, ok := strings.CutPrefix(path, "/rialto."); ok {
		name, _, _ = strings.Cut(name, ".")
		switch {
		case slices.Contains(chatPackages, name):
			return config.RoleChat
		case slices.Contains(feedPackages, name):
			return config.RoleFeed
		}
	}
	return config.RoleAPI
}

var errTooManyFiles = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "too many files are being sent to this address, or in all; try again", Retry: time.Second}

// networkOf returns the network that a request comes from; none where it is that of a proxy, or of this machine.
func (n *Node) networkOf(r *http.Request) netip.Prefix {
	return ratelimit.Network(r.RemoteAddr, r.Header, n.config.Plaintext)
}

// limitFileRequests limits the requests for files and pages in progress, for each address and in all. All clients are counted, because
// the URL of a file needs no credentials.
func (n *Node) limitFileRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		network := n.networkOf(r)
		if n.purges.IsEdge(r) {
			network = netip.Prefix{} // it asks for all its viewers
		}
		slot, ok := n.fileRequests.Acquire(network)
		if !ok {
			errs.WriteHTTP(w, errTooManyFiles)
			return
		}
		defer slot.Release()
		next.ServeHTTP(w, r)
	})
}

// maxLoggedOrigin is how much of an origin is logged, in bytes.
const maxLoggedOrigin = 200

const (
	allowedHeaders = "Authorization, Content-Type, Content-Digest, Connect-Protocol-Version, Connect-Timeout-Ms, Rialto-User, Traceparent, " +
		"Last-Event-ID, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, Upload-Checksum, Upload-Concat, X-HTTP-Method-Override"
	exposedHeaders = "Retry-After, ETag, Location, Tus-Resumable, Tus-Version, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Concat, Upload-Expires"
)

// cors allows calls from web pages of some origins, and logs the others. Only browsers ask before a call (OPTIONS), and only for pages of
// another origin.
func cors(origins []string, next http.Handler, logger *slog.Logger) http.Handler {
	refused := &rate.Sometimes{First: 20, Interval: 10 * time.Second}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if len(origins) > 0 {
			w.Header().Add("Vary", "Origin") // also where there is none: a browser keeps a picture, and asks for it otherwise later
		}
		if origin != "" && (slices.Contains(origins, origin) || slices.Contains(origins, "*")) {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
				w.Header().Set("Access-Control-Allow-Headers", allowedHeaders)
				w.Header().Set("Access-Control-Max-Age", "7200")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		} else if origin != "" && r.Method == http.MethodOptions {
			refused.Do(func() {
				logger.Warn("a page may not make calls: its origin is not in gateway.origins", "origin", origin[:min(len(origin), maxLoggedOrigin)])
			})
		}
		next.ServeHTTP(w, r)
	})
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// adminMux has what the listener for operators of each node serves.
func (n *Node) adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{EnableOpenMetrics: n.tracer != nil})) // which alone has exemplars
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	host, _, _ := net.SplitHostPort(n.config.Admin) // empty if it is not set
	mux.Handle("GET /debug/pprof/", withoutOtherPages(profiles, host))
	return mux
}

// withoutOtherPages refuses requests that a page of another site makes in an operator's browser: profiles take time, and show what runs. Such a page may also have a name
// of its own that leads to this listener, so requests by name must have that of the listener or of this machine.
func withoutOtherPages(next http.Handler, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := loopback.HostOf(r.Host)
		_, err := netip.ParseAddr(host)
		site := r.Header.Get("Sec-Fetch-Site")
		if site != "" && site != "same-origin" && site != "none" || err != nil && host != name && !loopback.IsHost(host) {
			http.Error(w, "profiles are not for pages of other sites; ask for them by the address of this listener", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// adminHandler serves the listener for operators.
func (n *Node) adminHandler() http.Handler {
	mux := n.adminMux()
	mux.HandleFunc("GET /readyz", n.readyAdmin)
	mux.Handle("GET "+consolePath, console())
	calls := n.rpc.Handler()
	for _, service := range []string{operationv1connect.OperationServiceName, feedv1connect.FeedAdminServiceName, moderationv1connect.ModerationAdminServiceName, bridgev1connect.BridgeAdminServiceName, rankingv1connect.RankingAdminServiceName} { // those of the console, and of moderators
		mux.Handle("POST /"+service+"/", calls)
	}
	mux.Handle("POST "+bridgev1connect.BridgeLinkServiceListBridgesProcedure, calls) // by which moderators find the names of bridges
	return mux
}
