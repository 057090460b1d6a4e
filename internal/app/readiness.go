package app

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// readyTimeout bounds the database query of a readiness check.
const readyTimeout = 2 * time.Second

// readiness reports whether the database can be read. It queries at most once a second, by one request at a time, because the public
// listener is open to anyone.
type readiness struct {
	checking sync.Mutex // guards at; held during a query
	at       time.Time
	last     atomic.Pointer[error]
}

// check returns the result of ask, or the last one.
func (r *readiness) check(ctx context.Context, ask func(context.Context) error) error {
	if r.checking.TryLock() {
		defer r.checking.Unlock()
		if r.last.Load() == nil || time.Since(r.at) >= time.Second {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
			err := ask(within)
			cancel()
			r.at = time.Now()
			r.last.Store(&err)
		}
	}
	if last := r.last.Load(); last != nil {
		return *last
	}
	return nil // the first query is under way; the database was read at the start
}

// readyPublic answers a load balancer whether to send this node new connections and requests.
func (n *Node) readyPublic(w http.ResponseWriter, r *http.Request) {
	if n.leaving.Load() || n.damaged() != "" || n.readiness.check(r.Context(), n.db.Read().PingContext) != nil {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n")) // the client may have gone
}

// readyAdmin answers operators whether the node is ready, and why not.
func (n *Node) readyAdmin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	state := map[string]any{"ready": true, "node": n.name, "connections": n.gateway.Stats().Connections.Load()}
	if n.leaving.Load() {
		state["ready"], state["leaving"] = false, true
	}
	if d := n.damaged(); d != "" {
		state["ready"], state["damaged"] = false, d
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := n.db.Read().PingContext(ctx); err != nil {
		state["ready"], state["records"] = false, err.Error()
	}
	if state["ready"] == false {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(state) // the client may have gone
}

// damaged describes known corruption in the database of the data directory; empty if there is none.
func (n *Node) damaged() string {
	if n.stores == nil {
		return ""
	}
	return n.stores.Damaged()
}
