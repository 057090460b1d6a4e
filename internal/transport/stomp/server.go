// Package stomp serves clients of STOMP 1.2, over TCP and over WebSocket. A session translates: it speaks STOMP to its client, and to the gateway it is a
// client over TCP, whose connection is a pipe in memory. So all guarantees of the gateway hold: credentials, deadlines, limits of users and
// addresses, receipts after the sync, and the handling of slow clients.
//
// A session has three goroutines: one reads the client (session.go, commands.go), one reads the gateway and writes messages (deliver.go), and one
// sends all that does not answer a frame of the client: syncs, acknowledgements and heartbeats. Only the first and the third write to the gateway.
// They never hold the session's lock while they write, so that the gateway may wait for the second.
package stomp

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// protocol is the subprotocol of WebSocket.
const protocol = "v12.stomp"

// Gateway serves the sockets that sessions translate to.
type Gateway interface {
	// ServeTranslator serves a connection whose frames have their length before them, and whose syncs acknowledge nothing. The slot counts it until it
	// is authenticated.
	ServeTranslator(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot)
	// CheckUpgrade checks a request for a WebSocket, but for its subprotocol.
	CheckUpgrade(r *http.Request) error
	// AcquireSlot counts a connection that has no credentials yet.
	AcquireSlot(r *http.Request) (*inputlimit.Slot, error)
}

// Inbox reads where devices are.
type Inbox interface {
	// AckedPosition is the newest position that a device has acknowledged, 0 if there is none.
	AckedPosition(ctx context.Context, c id.Caller) (message.Position, error)
}

// Deps are what a Server needs.
type Deps struct {
	Gateway Gateway
	Inbox   Inbox
	// Input bounds the memory of incomplete frames.
	Input *inputlimit.Memory
	// Limits are the rate limits of users; nil: none.
	Limits *ratelimit.Table
	// Proxied means that all requests come through a proxy, which sets the client's address in X-Forwarded-For.
	Proxied bool
}

// Server serves sessions.
type Server struct {
	deps Deps

	ctx  context.Context // ends when Run does
	stop context.CancelFunc

	mu       sync.Mutex // guards all below
	closed   bool
	sessions map[*session]struct{}
	running  sync.WaitGroup // of the sessions
}

// New returns a server.
func New(deps Deps) *Server {
	s := &Server{deps: deps, sessions: map[*session]struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Run waits until ctx ends, then ends all sessions. It returns when their goroutines have. The gateway stops before: it tells the clients.
func (s *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	s.closed = true
	for one := range s.sessions {
		one.cut()
	}
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
	return nil
}

// ServeTCP serves a connection over TCP, or TLS. It does not wait for the client.
func (s *Server) ServeTCP(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
	slot.Detach()
	s.start(&tcpWire{nc}, network, slot)
}

// ServeHTTP serves a connection over WebSocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.deps.Gateway.CheckUpgrade(r)
	if offered := strings.Join(r.Header.Values("Sec-Websocket-Protocol"), ","); err == nil && offered != "" && !strings.Contains(offered, protocol) {
		err = errs.New(errs.Invalid, "subprotocol", "the subprotocol is "+protocol)
	}
	var slot *inputlimit.Slot
	if err == nil {
		slot, err = s.deps.Gateway.AcquireSlot(r)
	}
	if err != nil {
		errs.WriteHTTP(w, err)
		return
	}
	up := ws.HTTPUpgrader{Protocol: func(p string) bool { return p == protocol }}
	nc, rw, _, err := up.Upgrade(r, w)
	if err != nil {
		if slot != inputlimit.SlotOf(r.Context()) {
			slot.Release()
		}
		if nc != nil { // the connection is hijacked, and the response was written
			_ = nc.Close() // the client may have gone
		}
		return
	}
	slot.Detach()
	s.start(newWebSocketWire(nc, rw.Reader), ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied), slot)
}

// start starts a session.
func (s *Server) start(client wire, network netip.Prefix, slot *inputlimit.Slot) {
	ours, theirs := net.Pipe()
	one := newSession(s, client, ours, network)
	if over, ok := client.(*webSocketWire); ok {
		over.onPing = one.pinged
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = client.Close() // the client may have gone
		slot.Release()
		return
	}
	s.sessions[one] = struct{}{}
	s.running.Go(func() {
		one.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, one)
	})
	s.mu.Unlock()
	s.running.Go(func() { s.deps.Gateway.ServeTranslator(theirs, network, slot) }) // it waits for the session if it refuses the connection
}
