package app

import (
	"net"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/canary"
	"github.com/rialto-im/rialto/internal/service/discovery"
)

// openDiscovery makes the service that tells clients where to connect. The listeners are bound already.
func (n *Node) openDiscovery() {
	c := discovery.Config{Region: n.config.Public.Region, Alone: !n.config.Clustered(), Sockets: n.config.Has(config.RoleGateway), TCPTLS: n.certificate != nil}
	if n.tcpListener != nil {
		if a, ok := n.tcpListener.Addr().(*net.TCPAddr); ok {
			c.TCPPort = a.Port
		}
	}
	n.internalURL, n.internalCert = n.internalAddress()
	n.isReachedByNodes = n.reachedByNodes()
	n.discovery = discovery.New(discovery.Deps{Gateways: n.cluster.Gateways}, c)
}

// publicGateway is what clients are told of this node. The cluster calls it once all services are made.
func (n *Node) publicGateway() cluster.Gateway {
	p := n.config.Public
	g := cluster.Gateway{Region: p.Region, TCPTLS: n.certificate != nil, Draining: n.leaving.Load() || n.damaged() != "",
		Connections: n.gateway.Stats().Connections.Load(), Capacity: n.gateway.Capacity()}
	if most := n.open.most; most > 0 {
		g.Capacity = min(g.Capacity, most)
	}
	if p.URL != "" && n.config.Has(config.RoleGateway) {
		g.WS = discovery.SocketURL(p.URL)
	}
	if p.URL != "" && n.config.Has(config.RoleAPI) {
		g.HTTP = p.URL
	}
	if n.tcpListener != nil {
		g.TCP = p.TCP
	}
	for _, e := range n.edges.Live() {
		if e.URL != "" {
			g.Edges = append(g.Edges, cluster.Edge{Name: e.Name, Region: e.Region, URL: e.URL, Connections: e.Connections, Capacity: e.Capacity})
		}
	}
	if n.config.Has(config.RoleGateway) && n.isReachedByNodes {
		g.Internal, g.InternalCert = n.internalURL, n.internalCert
	}
	return g
}

// reachedByNodes reports whether other nodes reach the listener. Where it is on loopback, as behind a proxy on the same machine, they do only if all nodes are on this
// machine, as their bus shows.
func (n *Node) reachedByNodes() bool {
	host, _, err := net.SplitHostPort(n.listener.Addr().String())
	if err != nil || !loopback.IsHost(host) {
		return err == nil
	}
	other, _, err := net.SplitHostPort(n.busAddress())
	return err == nil && loopback.IsHost(other)
}

// internalAddress is where other nodes reach the sockets of this node's listener, and the fingerprint of the certificate there.
func (n *Node) internalAddress() (url, certificate string) {
	address := n.listener.Addr().String()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
		if n.config.Clustered() {
			host = localAddressTowards(n.config.Postgres)
		}
		address = net.JoinHostPort(host, port)
	}
	if n.certificate == nil {
		return discovery.SocketURL("http://" + address), ""
	}
	return discovery.SocketURL("https://" + address), canary.Fingerprint(n.certificate.Certificate[0])
}
