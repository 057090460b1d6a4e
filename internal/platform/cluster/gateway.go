package cluster

import (
	"encoding/json"
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// Gateway is what a node tells clients, by way of the other nodes: where they reach it, and how much room it has. A node that clients do not
// reach by an address of its own has the zero Gateway.
type Gateway struct {
	// Node is the name of the node.
	Node string `json:"-"`
	// Region of the node; "" if the operator has none.
	Region string `json:"region,omitempty"`
	// WS is the URL of sockets, TCP is HOST:PORT of sockets over TCP, and HTTP the URL before the path of calls; "" if the node does not serve that.
	WS   string `json:"ws,omitempty"`
	TCP  string `json:"tcp,omitempty"`
	HTTP string `json:"http,omitempty"`
	// TCPTLS: sockets over TCP have TLS.
	TCPTLS bool `json:"tcp_tls,omitempty"`
	// Connections are the open ones, of at most Capacity.
	Connections int64 `json:"connections,omitempty"`
	Capacity    int64 `json:"capacity,omitempty"`
	// Internal is the URL of sockets at the node's own listener, for the other nodes: clients are not told of it. With wss, InternalCert is the SHA-256 of the
	// certificate there, in hexadecimal, which need not name the address. Both are "" if the node has no sockets, and for a node of an earlier build.
	Internal     string `json:"internal,omitempty"`
	InternalCert string `json:"internal_cert,omitempty"`
	// Draining nodes stop, or cannot serve: no client is sent to them.
	Draining bool `json:"draining,omitempty"`
	// Edges are those that report to the node.
	Edges []Edge `json:"edges,omitempty"`
}

// Edge serves files near clients. It is no member of the cluster.
type Edge struct {
	Name   string `json:"name"`
	Region string `json:"region,omitempty"`
	// URL is where clients reach it, before the path of a file.
	URL string `json:"url"`
	// Connections are the open ones, of at most Capacity.
	Connections int64 `json:"connections,omitempty"`
	Capacity    int64 `json:"capacity,omitempty"`
}

// HasAddress reports whether clients reach the node by an address of its own.
func (g Gateway) HasAddress() bool { return g.WS != "" || g.TCP != "" || g.HTTP != "" }

// leasedGateway is a Gateway until its node's lease ends.
type leasedGateway struct {
	Gateway
	until time.Time
}

// Gateways returns the gateways of live nodes, ordered by name: this node's as it is now, and the others' as of their last heartbeats. One
// whose node has sent no heartbeat for NodeTimeout is left out, also while this node cannot read heartbeats.
func (s *Service) Gateways() (list []Gateway) {
	now, v := time.Now(), s.view.Load()
	for _, g := range v.gateways {
		switch {
		case g.Node == s.config.Node:
			list = append(list, s.ownGateway())
		case now.Before(g.until):
			list = append(list, g.Gateway)
		}
	}
	return list
}

// ownGateway is this node's gateway as it is now.
func (s *Service) ownGateway() (g Gateway) {
	if s.deps.Gateway != nil {
		g = s.deps.Gateway()
	}
	g.Node = s.config.Node
	return g
}

// AnnounceGateway has the next heartbeat sent at once, since this node's gateway has changed. It does not block.
func (s *Service) AnnounceGateway() { wakeup.Signal(s.announce) }

// encodeGateway is the text of this node's row.
func (s *Service) encodeGateway() (string, error) {
	b, err := json.Marshal(s.ownGateway())
	return string(b), err
}

// leaseGateways returns the gateways of the live nodes. Those that cannot be read, such as a later release's, are logged, and not offered to clients.
func (s *Service) leaseGateways(live []*member) (list []leasedGateway) {
	at := s.clock.now()
	for _, m := range live {
		g := leasedGateway{until: s.aliveSince(m, at).Add(s.config.NodeTimeout)}
		if m.gateway != "" {
			if err := json.Unmarshal([]byte(m.gateway), &g.Gateway); err != nil {
				s.unreadGateways.Do(func() {
					s.deps.Logger.Warn("the addresses of a node cannot be decoded, so clients are not sent to it; upgrade this node", "node", m.Name, "error", err)
				})
				g.Gateway = Gateway{}
			}
		}
		g.Node = m.Name
		list = append(list, g)
	}
	return list
}
