package gateway

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// Subprotocols.
const (
	protocolProto = "rialto.v1.proto"
	protocolJSON  = "rialto.v1.json"
)

// ServeHTTP takes a socket: checks its origin and credentials, upgrades it and greets it. Without a subprotocol it speaks JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.admit(r); err != nil {
		s.stats.Refused.Add(1)
		answer(w, err)
		return
	}
	caller, err := s.credentials(r)
	if err != nil {
		s.stats.Refused.Add(1)
		answer(w, err)
		return
	}
	packs := false
	up := ws.HTTPUpgrader{
		Protocol: func(p string) bool { return p == protocolProto || p == protocolJSON },
		Negotiate: func(o httphead.Option) (httphead.Option, error) {
			if string(o.Name) != "permessage-deflate" || packs {
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
		if nc != nil { // it has answered, and left the connection to us
			_ = nc.Close() // there is nobody to tell
		}
		return
	}
	var ahead []byte
	if n := rw.Reader.Buffered(); n > 0 {
		p, err := rw.Reader.Peek(n)
		if err == nil {
			ahead = slices.Clone(p)
		}
	}
	s.open(nc, ahead, caller, shake.Protocol != protocolProto, packs)
}

// open starts a connection. caller is zero when its credentials are to come in the first frame.
func (s *Server) open(nc net.Conn, ahead []byte, caller id.Caller, json, packs bool) {
	n := s.next.Add(1)
	now := s.now.Load()
	c := &conn{server: s, json: json, deflate: packs, shard: uint8(n % uint32(len(s.flush))), opened: now, frameAt: -1, fd: -1, caller: caller}
	c.last.Store(now)
	s.stats.Accepted.Add(1)
	s.stats.Connections.Add(1)
	known := caller.User != 0
	var own *stream
	if carries(nc) {
		c.via = s.loops[c.shard]
	} else {
		own = newStream(s, c, nc)
		c.via = own
	}
	if known {
		ctx, cancel := context.WithTimeout(s.ctx, callTime)
		err := c.greet(ctx)
		cancel()
		if err != nil {
			c.refuse(err)
		}
	}
	// What was put so far waits in the buffer.
	if own != nil {
		own.start(ahead)
	} else if err := s.loops[c.shard].adopt(c, nc, ahead); err != nil {
		s.deps.Logger.Error("a connection could not be taken over", "error", err)
		_ = nc.Close() // it may be closed already
		c.closed()
		return
	}
	s.wheel.put(c, now+uint32(s.config.AuthWithin.Seconds()))
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		c.bye(closeDrain, "draining", s.away())
	}
	c.mu.Lock()
	c.queue() // what was put before
	c.mu.Unlock()
	s.touch(c)
}

// admit checks what does not need a store.
func (s *Server) admit(r *http.Request) error {
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return errs.New(errs.Invalid, "not_a_socket", "open this address with a WebSocket client (GET)")
	}
	for _, name := range []string{"token", "access_token", "authorization"} {
		if r.URL.Query().Has(name) {
			return errs.New(errs.Invalid, "token_in_url", "addresses end up in logs: send the token in the Authorization header or in the first frame, or get a ticket")
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !s.mayCome(origin, r.Host) {
		return errs.New(errs.Denied, "origin", "pages from "+origin+" may not connect; add the origin to gateway.origins")
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
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: time.Second}
	}
	if s.stats.Connections.Load() >= int64(s.config.MaxConnections) {
		return &errs.Error{Kind: errs.Unavailable, Reason: "full", Message: "this server takes no more connections now; try another, or later", Retry: s.config.DrainOver}
	}
	return nil
}

func (s *Server) mayCome(origin, host string) bool {
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
		if r.Header.Get("Origin") == "" { // it was checked where it is given
			return caller, errs.New(errs.Denied, "origin", "a cookie counts only with the Origin header of a page")
		}
		caller, err = s.deps.Accounts.Verify(r.Context(), cookie.Value)
	} else {
		return id.Caller{}, nil
	}
	if err == nil && caller.User == 0 {
		err = errs.New(errs.Unauthenticated, "no_user", "a socket belongs to a user; use a user's token")
	}
	return caller, err
}

var statuses = map[errs.Kind]int{errs.Invalid: 400, errs.Unauthenticated: 401, errs.Denied: 403, errs.NotFound: 404, errs.Exhausted: 429, errs.Unavailable: 503}

// answer refuses a handshake, in Connect's form of an error.
func answer(w http.ResponseWriter, err error) {
	e := errorOf(err)
	status, ok := statuses[errs.Of(err).Kind]
	if !ok {
		status = 500
	}
	w.Header().Set("Content-Type", "application/json")
	if e.RetryMs > 0 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	// The client may have gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": e.Code, "reason": e.Reason, "message": e.Message})
}
