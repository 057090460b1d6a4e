package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rialto-im/rialto/gen/openapi"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/web"
)

// serve opens the listeners.
func (h *House) serve(ctx context.Context) error {
	var err error
	if h.adminListener, err = h.listenAdmin(ctx); err != nil {
		return err
	}
	h.run("admin", h.adminListener, h.adminMux(), false)
	var lc net.ListenConfig
	if h.listener, err = lc.Listen(ctx, "tcp", h.config.Listen); err != nil {
		return explainListen("listen", h.config.Listen, err)
	}
	h.run("listener", h.listener, h.mux(), h.config.TLS.Cert != "")
	return nil
}

// explainListen says which address, why, and what to do.
func explainListen(name, address string, err error) error {
	why, do := err, "choose another address with --"+name
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		why = call.Err
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		why, do = errors.New("another program has it"), "stop that, or choose another address with --"+name
	}
	return fmt.Errorf("%s: %s cannot be listened on: %w; %s", name, address, why, do)
}

// listenAdmin takes the configured address, or else the port above the listener's, or else a free one: two servers on one
// machine do not get into each other's way.
func (h *House) listenAdmin(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if h.config.Admin != "" {
		l, err := lc.Listen(ctx, "tcp", h.config.Admin)
		if err != nil {
			return nil, explainListen("admin", h.config.Admin, err)
		}
		return l, nil
	}
	_, port, err := net.SplitHostPort(h.config.Listen)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 65535 {
		if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n+1))); err == nil {
			return l, nil
		}
	}
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

// run serves HTTP on a listener as a part of the stack.
func (h *House) run(name string, l net.Listener, handler http.Handler, tls bool) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(tls)
	protocols.SetUnencryptedHTTP2(!tls) // gRPC without TLS
	server := &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(complaints{h.logger}, "", 0)}
	h.stack.Start(name, func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { // ends when the server is shut down
			if tls {
				served <- server.ServeTLS(l, h.config.TLS.Cert, h.config.TLS.Key)
			} else {
				served <- server.Serve(l)
			}
		}()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
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

// complaints of an HTTP server: what clients do wrong is for those who look closely, a panic of ours is for everyone.
type complaints struct{ logger *slog.Logger }

func (c complaints) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	if strings.Contains(text, "panic serving") {
		c.logger.Error("a request panicked", "detail", text)
	} else {
		c.logger.Debug("a connection failed", "detail", text)
	}
	return len(b), nil
}

// mux is the public door.
func (h *House) mux() http.Handler {
	calls, files := h.cors(h.rpc.Handler()), h.cors(h.media.Handler())
	page := app()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch p := r.URL.Path; {
		case p == "/healthz":
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte("ok\n")) // the client may have gone
		case !h.config.Has(config.RoleGateway) && p == "/v1/socket", !h.config.Has(config.RoleAPI) && p != "/v1/socket":
			http.Error(w, "this node does not serve this; its roles are "+strings.Join(h.config.Roles, ", "), http.StatusNotFound)
		case p == "/v1/socket":
			h.gateway.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/rialto."):
			calls.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/v1/media/"):
			files.ServeHTTP(w, r)
		case p == "/v1/openapi.json":
			w.Header().Set("Content-Type", "application/json")
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(openapi.Document))
		default:
			page.ServeHTTP(w, r)
		}
	})
}

// cors lets the pages of configured origins call.
func (h *House) cors(next http.Handler) http.Handler {
	origins := h.config.Gateway.Origins
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if len(origins) > 0 {
			w.Header().Add("Vary", "Origin") // also where there is none: a browser keeps a picture, and asks for it otherwise later
		}
		if origin != "" && (slices.Contains(origins, origin) || slices.Contains(origins, "*")) {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT")
				w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Connect-Protocol-Version, Connect-Timeout-Ms, Rialto-User")
				w.Header().Set("Access-Control-Max-Age", "7200")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// app serves the web app. Its paths are the app's own: what is no file is its page.
func app() http.Handler {
	files, built := web.Files()
	static := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' ws: wss:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		h.Set("X-Frame-Options", "DENY")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this address is a page; calls are POSTs to /package.Service/Method", http.StatusMethodNotAllowed)
			return
		}
		if !built {
			h.Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(web.NotBuilt()) // the client may have gone
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if _, err := fs.Stat(files, name); name == "" || err != nil {
			if strings.HasPrefix(name, "assets/") {
				http.NotFound(w, r)
				return
			}
			r.URL.Path = "/"
			h.Set("Cache-Control", "no-cache")
		} else if strings.HasPrefix(name, "assets/") {
			h.Set("Cache-Control", "public, max-age=31536000, immutable") // their names hold a hash
		}
		static.ServeHTTP(w, r)
	})
}

// adminMux is the door of operators.
func (h *House) adminMux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		state := map[string]any{"ready": true, "node": h.node, "connections": h.gateway.Stats().Connections.Load()}
		if h.leaving.Load() {
			state["ready"], state["leaving"] = false, true
		}
		if err := h.db.Read().PingContext(r.Context()); err != nil {
			state["ready"], state["records"] = false, err.Error()
		}
		if state["ready"] == false {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(state) // the client may have gone
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}
