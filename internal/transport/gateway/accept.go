package gateway

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// Subprotocols.
const (
	protocolProto = "rialto.v1.proto"
	protocolJSON  = "rialto.v1.json"
)

// ServeHTTP accepts a socket: it checks origin and credentials, upgrades and greets it. Without a subprotocol it speaks JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.checkHandshake(r); err != nil {
		s.stats.Refused.Add(1)
		errs.WriteHTTP(w, err)
		return
	}
	caller, err := s.credentials(r)
	if err != nil {
		s.stats.Refused.Add(1)
		errs.WriteHTTP(w, err)
		return
	}
	if caller.User != 0 {
		err = s.admitInStorm(r)
	}
	var slot *inputlimit.Slot
	if err == nil {
		slot, err = s.acquireSlot(r, caller)
	}
	if err != nil {
		s.stats.Refused.Add(1)
		errs.WriteHTTP(w, err)
		return
	}
	packs := false
	up := ws.HTTPUpgrader{
		Protocol: func(p string) bool { return p == protocolProto || p == protocolJSON },
		Negotiate: func(o httphead.Option) (httphead.Option, error) {
			// Compression is negotiated for authenticated clients only.
			if string(o.Name) != "permessage-deflate" || packs || caller.User == 0 {
				return httphead.Option{}, nil
			}
			if v, ok := o.Parameters.Get("server_max_window_bits"); ok && string(v) != "15" {
				return httphead.Option{}, nil // our window is 15 bits; without the extension it goes too
			}
			packs = true
			return httphead.NewOption("permessage-deflate", map[string]string{"server_no_context_takeover": "", "client_no_context_takeover": ""}), nil
		},
	}
	nc, rw, shake, err := up.Upgrade(r, w)
	if err != nil {
		s.stats.Refused.Add(1)
		if slot != inputlimit.SlotOf(r.Context()) {
			slot.Release()
		}
		if nc != nil { // the connection is hijacked, and the response was written
			_ = nc.Close() // the client may have gone
		}
		return
	}
	slot.Detach()
	var ahead []byte
	if n := rw.Reader.Buffered(); n > 0 {
		p, err := rw.Reader.Peek(n)
		if err == nil {
			ahead = slices.Clone(p)
		}
	}
	s.open(nc, ahead, &conn{json: shake.Protocol != protocolProto, deflate: packs, caller: caller, network: ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied), slot: slot})
}

// acquireSlot counts a connection without credentials until it authenticates.
func (s *Server) acquireSlot(r *http.Request, caller id.Caller) (*inputlimit.Slot, error) {
	slot := inputlimit.SlotOf(r.Context())
	if caller.User != 0 { // the hub counts its connections
		slot.Release()
		slot.Detach()
		return nil, nil
	}
	through, err := s.deps.Connections.AcquireForRequest(r.Context(), ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied))
	if err != nil || through != nil {
		return through, err
	}
	return slot, nil
}

// newConn completes a connection that has its form and its client, and counts it until onClosed. Its caller is zero if it is not authenticated yet.
func (s *Server) newConn(c *conn) *conn {
	c.server, c.shard, c.opened, c.frameAt, c.fd = s, uint8(s.next.Add(1)%uint32(len(s.flush))), s.now.Load(), -1, -1
	c.lastInput.Store(c.opened)
	s.stats.Accepted.Add(1)
	s.stats.Connections.Add(1)
	return c
}

// open starts a connection that has its form and its client. Its caller is zero if the first frame brings the credentials.
func (s *Server) open(nc net.Conn, ahead []byte, c *conn) {
	now := s.newConn(c).opened
	known := c.caller.User != 0
	var own *netTransport
	if canPoll(nc) {
		c.transport = s.loops[c.shard]
	} else {
		own = newNetTransport(s, c, nc)
		s.stats.Streams.Add(1)
		c.transport = own
	}
	if known {
		c.mu.Lock()
		c.advance(stateGreeting)
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.ctx, callTime)
		err := c.greet(ctx)
		cancel()
		if err != nil {
			c.refuse(err)
		}
	}
	// The output so far waits in the buffer.
	if own != nil {
		own.start(ahead)
	} else if err := s.loops[c.shard].adopt(c, nc, ahead); err != nil {
		s.deps.Logger.Error("a connection could not be added to an event loop", "error", err)
		_ = nc.Close() // it may be closed already
		c.onClosed()
		return
	}
	s.wheel.schedule(c, now+uint32(s.config.AuthWithin.Seconds()))
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		c.sayGoodbye(closeDrain, "draining", s.stayAway())
	}
	c.mu.Lock()
	c.queueWrite() // the output so far
	c.mu.Unlock()
	s.requestFlush(c)
}

// AcquireSlot counts a connection of a translator until it authenticates.
func (s *Server) AcquireSlot(r *http.Request) (*inputlimit.Slot, error) {
	return s.acquireSlot(r, id.Caller{})
}

// checkHandshake makes the checks that need no store.
func (s *Server) checkHandshake(r *http.Request) error {
	if err := s.CheckUpgrade(r); err != nil {
		return err
	}
	if offered := r.Header.Values("Sec-Websocket-Protocol"); len(offered) > 0 {
		known := false
		for _, p := range strings.Split(strings.Join(offered, ","), ",") {
			p = strings.TrimSpace(p)
			known = known || p == protocolProto || p == protocolJSON
		}
		if !known {
			return errs.New(errs.Invalid, "subprotocol", "the subprotocols are "+protocolProto+" and "+protocolJSON)
		}
	}
	return nil
}

// CheckUpgrade checks a request for a WebSocket, but for its subprotocol and its credentials.
func (s *Server) CheckUpgrade(r *http.Request) error {
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return errs.New(errs.Invalid, "not_a_socket", "open this address with a WebSocket client (GET)")
	}
	if err := s.checkRequest(r); err != nil {
		return err
	}
	return s.checkRoom()
}

// checkRequest checks what a request for a connection says of itself: whether its address has a token, and its origin.
func (s *Server) checkRequest(r *http.Request) error {
	if err := s.checkAddress(ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied)); err != nil {
		return err
	}
	if q := r.URL.RawQuery; len(q) > maxQuery || strings.Count(q, "&") >= maxParameters {
		return errs.New(errs.Invalid, "bad_url", "the address of a socket has at most 32 parameters, in 4,096 bytes")
	}
	for name := range r.URL.Query() {
		if isTokenName(name) {
			return errs.New(errs.Invalid, "token_in_url", "addresses end up in logs: send the token in the Authorization header or in the first frame, or get a ticket")
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !s.originAllowed(origin, r.Host) {
		s.refusedOrigins.Do(func() {
			s.deps.Logger.Warn("a page may not connect: its origin is not in gateway.origins", "origin", origin[:min(len(origin), maxLoggedOrigin)])
		})
		return errs.New(errs.Denied, "origin", "pages of this origin may not connect; add the origin to gateway.origins")
	}
	return nil
}

// errClosing refuses a connection because the node stops.
func errClosing(retry time.Duration) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: retry}
}

// errFull refuses a connection for which there is no room. It names half of the time for which the node drains to one and a half of it.
func (s *Server) errFull() error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "full", Message: "this server accepts no more connections at the moment; try another one, or retry later", Retry: backoff.Spread(s.config.DrainOver/2, s.config.DrainOver*3/2)}
}

// checkRoom checks whether one more connection may be added.
func (s *Server) checkRoom() error {
	return s.admit()
}

// admit reports whether the server takes another connection.
func (s *Server) admit() error {
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return errClosing(time.Second)
	}
	if s.stats.Connections.Load() >= int64(s.config.MaxConnections) {
		return s.errFull()
	}
	return nil
}

// checkAddress checks whether a network may connect.
func (s *Server) checkAddress(from netip.Prefix) error {
	if s.deps.CheckAddress == nil {
		return nil
	}
	return s.deps.CheckAddress(from)
}

const (
	// maxQuery of the address of a socket, in bytes: a ticket, a position, and what proxies add. It is read before anybody is known.
	maxQuery = 4096
	// maxParameters in it.
	maxParameters = 32
)

// separators that spellings of a name may have.
var separators = strings.NewReplacer("_", "", "-", "")

// isTokenName reports whether a URL parameter has the name of a token, in any spelling: accessToken, access-token, ACCESS_TOKEN.
func isTokenName(name string) bool {
	switch strings.ToLower(separators.Replace(name)) {
	case "token", "accesstoken", "authtoken", "refreshtoken", "authorization", "auth", "bearer", "jwt", "apikey":
		return true
	}
	return false
}

// maxLoggedOrigin is how much of an origin is logged, in bytes.
const maxLoggedOrigin = 200

func (s *Server) originAllowed(origin, host string) bool {
	if slices.Contains(s.config.Origins, "*") || slices.Contains(s.config.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// cookieName of the access token, for pages of the server's own origin.
const cookieName = "rialto_access"

// credentials of the handshake; a zero caller when there are none.
func (s *Server) credentials(r *http.Request) (id.Caller, error) {
	var caller id.Caller
	var err error
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		caller, err = s.deps.Accounts.Verify(r.Context(), token)
	} else if ticket := r.URL.Query().Get("ticket"); ticket != "" {
		caller, err = s.deps.Accounts.VerifyTicket(r.Context(), ticket)
	} else if cookie, cerr := r.Cookie(cookieName); cerr == nil {
		// A given Origin was checked before. Browsers send none with a GET for a page of the server's own origin, and only they set the other header.
		if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
			return caller, errs.New(errs.Denied, "origin", "a cookie counts only with the Origin header of a page")
		}
		caller, err = s.deps.Accounts.Verify(r.Context(), cookie.Value)
	} else {
		return id.Caller{}, nil
	}
	if err == nil && (caller.User == 0 || caller.Bot) {
		err = errs.New(errs.Unauthenticated, "no_user", "a socket belongs to a user; use a user's token")
	}
	return caller, err
}
