package app

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

const (
	// A count of every account would be a lock for every call. Those of one in accountsPerSample are counted instead.
	accountsPerSample = 16
	// manyAccounts of one network address within accountsTime are a sign that the address is a proxy's. Schools and mobile networks may have as
	// many, so the warning only says what to check. They are about manyAccounts, because accounts are sampled.
	manyAccounts = 32 * accountsPerSample
	accountsTime = time.Hour
	// maxAccountsSeen bounds the sampled accounts that are remembered with their addresses, some 100 bytes each. At the bound, the count starts again.
	maxAccountsSeen = 16_384
)

// proxySigns looks for signs that a proxy in front of the server does not report its clients' addresses, or is not trusted. Then the limits
// by address apply to all its clients together, or to none of them. Each sign is logged once.
type proxySigns struct {
	proxied bool // X-Forwarded-For is trusted from all peers
	clock   clock.Clock
	logger  *slog.Logger

	unreported, untrusted, shared atomic.Bool // the sign was logged

	mu       sync.Mutex // guards the fields below
	since    time.Time  // of the oldest account below
	seen     map[accountAt]struct{}
	accounts map[netip.Prefix]int // number of sampled accounts of an address in seen
}

// accountAt is a user at a network address.
type accountAt struct {
	user uint64
	from netip.Prefix
}

// request looks at a client's request: whether it should have the header X-Forwarded-For and does not, or the other way round.
func (s *proxySigns) request(r *http.Request) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return
	}
	local := peer.Addr().Unmap().IsLoopback()
	switch {
	case local || s.proxied:
		if ratelimit.Network(r.RemoteAddr, r.Header, s.proxied).IsValid() || local && isLocalHost(r.Host) {
			return
		}
		if !s.unreported.Swap(true) {
			s.logger.Warn("requests come without a client's address in X-Forwarded-For from this machine, or from a proxy (plaintext=true): limits by address do not apply to them. Make the proxy set the header to the address of its client",
				"peer", peer.Addr().String())
		}
	case len(r.Header.Values("X-Forwarded-For")) > 0:
		if !s.untrusted.Swap(true) {
			s.logger.Warn("X-Forwarded-For from another machine is not trusted: if that machine is your proxy, all its clients share the limits of one address. Then set plaintext=true and let only the proxy reach this server; else ignore this",
				"peer", peer.Addr().String())
		}
	}
}

// isLocalHost reports whether a request names this machine by an address or a name that only programs on it use.
func isLocalHost(host string) bool {
	host = loopback.HostOf(host)
	return host == "" || loopback.IsHost(host)
}

// isSampled reports whether a user is one of the accounts that are counted. Ids of users follow each other, so they are spread first.
func isSampled(user uint64) bool { return user*0x9e3779b97f4a7c15>>32%accountsPerSample == 0 }

// heavyHitter reports that refused connections without credentials come from one network address again and again. It is called at most once a minute.
func (s *proxySigns) heavyHitter(from netip.Prefix, refused int) {
	s.logger.Warn("connections without credentials are refused again and again, because too many come from one network address: if it is the address of a proxy or a load balancer, make it report its clients, by X-Forwarded-For with plaintext=true or by the PROXY protocol (tcp.proxy_protocol, stomp.proxy_protocol); if many clients share it, raise input.unauthenticated_per_address; else ignore this",
		"address", from.String(), "refused", refused)
}

// account counts the accounts of a network address. It is called for each call of a user.
func (s *proxySigns) account(user uint64, from netip.Prefix) {
	if !isSampled(user) || s.shared.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.seen == nil || len(s.seen) >= maxAccountsSeen || now.Sub(s.since) >= accountsTime {
		s.since, s.seen, s.accounts = now, map[accountAt]struct{}{}, map[netip.Prefix]int{}
	}
	at := accountAt{user, from}
	if _, known := s.seen[at]; known {
		return
	}
	s.seen[at] = struct{}{}
	if s.accounts[from]++; s.accounts[from] < manyAccounts/accountsPerSample || s.shared.Swap(true) {
		return
	}
	s.seen, s.accounts = nil, nil
	s.logger.Warn("very many accounts use one network address, and share its limits: if it is the address of a proxy or a load balancer, make it set X-Forwarded-For to the address of its client, and set plaintext=true; else ignore this",
		"address", from.String(), "accounts", manyAccounts)
}
