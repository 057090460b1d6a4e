// Package discovery tells clients where to connect: it ranks the gateways of the cluster's live nodes, and the edges that have files.
//
// What it knows is the cluster's membership (package cluster); it stores nothing. All methods are safe for concurrent use, and do not block.
package discovery

import (
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Deps are what a Service needs.
type Deps struct {
	// Gateways are those of the live nodes, this one's included.
	Gateways func() []cluster.Gateway
	// Random returns numbers below 1, of at least 0. If nil, they are random.
	Random func() float64
}

// Config of a Service.
type Config struct {
	// Region is where this node is.
	Region string
	// Alone: there are no other nodes, so that the address by which a client asked leads to this one.
	Alone bool
	// Sockets: this node has sockets. TCPPort is the port of those over TCP; 0: there are none. TCPTLS: they have TLS.
	Sockets bool
	TCPPort int
	TCPTLS  bool
}

// Service ranks gateways.
type Service struct {
	deps   Deps
	config Config
}

// New returns a service.
func New(deps Deps, config Config) *Service {
	if deps.Random == nil {
		deps.Random = rand.Float64
	}
	return &Service{deps, config}
}

const (
	// MaxGateways are in an answer.
	MaxGateways = 8
	// Lifetime of an answer. Clients that reconnect within it do not ask.
	Lifetime = time.Minute
)

// FindGateways returns the gateways for a client, best first. asked is the address by which it asked, as https://chat.example.com; "" if that is not
// known. It is the answer if no node has an address of its own. Anyone may ask, so nodes and regions are not named.
func (s *Service) FindGateways(r *gatewayv1.FindGatewaysRequest, asked string) *gatewayv1.FindGatewaysResponse {
	answer := &gatewayv1.FindGatewaysResponse{TtlMs: uint32(Lifetime.Milliseconds())}
	for _, e := range s.rank(s.edges(), r.Region, "") {
		answer.Edges = append(answer.Edges, e.HTTP)
	}
	for _, g := range s.rank(s.deps.Gateways(), r.Region, r.Previous) {
		answer.Gateways = append(answer.Gateways, &gatewayv1.Gateway{Ws: g.WS, Tcp: g.TCP, TcpTls: g.TCPTLS, Http: g.HTTP})
	}
	if own := s.asked(asked); len(answer.Gateways) == 0 && own != nil {
		answer.Gateways = []*gatewayv1.Gateway{own}
	}
	return answer
}

// Groups of gateways, best first.
const (
	isPrevious = iota
	isNear
	isFar
	isFull
)

// edges returns the edges that report to live nodes, each once, as gateways without sockets.
func (s *Service) edges() (list []cluster.Gateway) {
	seen := map[string]bool{}
	for _, g := range s.deps.Gateways() {
		for _, e := range g.Edges {
			if !seen[e.URL] {
				seen[e.URL] = true
				list = append(list, cluster.Gateway{Node: e.Name, Region: e.Region, HTTP: e.URL, Connections: e.Connections, Capacity: e.Capacity})
			}
		}
	}
	return list
}

// EdgeAddresses returns the addresses of the edges to which clients are sent.
func (s *Service) EdgeAddresses() (list []string) {
	for _, e := range s.edges() {
		list = append(list, e.HTTP)
	}
	return list
}

// rank returns the best of some gateways, at most MaxGateways.
func (s *Service) rank(gateways []cluster.Gateway, region, previous string) []cluster.Gateway {
	if region == "" {
		region = s.config.Region
	}
	type ranked struct {
		cluster.Gateway
		group int
		key   float64
	}
	var list []ranked
	for _, g := range gateways {
		if !g.HasAddress() || g.Draining {
			continue
		}
		e := ranked{Gateway: g, group: isFar}
		room := g.Capacity - g.Connections
		switch {
		case room <= 0:
			e.group, room = isFull, 1
		case g.Node == previous:
			e.group = isPrevious
		case g.Region == region:
			e.group = isNear
		}
		// The smallest of exponential variables with the rates a, b, c … is the first one with the probability a / (a + b + c + …): each gateway gets new
		// clients in proportion to its room, however many ask before its next heartbeat tells of them.
		e.key = -math.Log(1-s.deps.Random()) / float64(room)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b ranked) int {
		if a.group != b.group {
			return a.group - b.group
		}
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return strings.Compare(a.Node, b.Node)
	})
	best := make([]cluster.Gateway, 0, MaxGateways)
	for _, e := range list[:min(len(list), MaxGateways)] {
		best = append(best, e.Gateway)
	}
	return best
}

// asked makes a gateway of the address by which a client asked; nil if that is none. Of several nodes, it may lead to any.
func (s *Service) asked(address string) *gatewayv1.Gateway {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || address != u.Scheme+"://"+u.Host {
		return nil
	}
	g := &gatewayv1.Gateway{Http: address}
	if s.config.Sockets || !s.config.Alone {
		g.Ws = SocketURL(address)
	}
	if s.config.Alone && s.config.TCPPort != 0 {
		g.Tcp, g.TcpTls = net.JoinHostPort(u.Hostname(), strconv.Itoa(s.config.TCPPort)), s.config.TCPTLS
	}
	return g
}

// SocketURL is the address of sockets at an http or https address.
func SocketURL(address string) string {
	return "ws" + strings.TrimPrefix(address, "http") + "/v1/socket"
}
