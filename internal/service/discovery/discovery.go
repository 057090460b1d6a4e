// Package discovery tells clients where to connect: it ranks the gateways of the cluster's live nodes, and the edges that have files.
//
// It reads the cluster's membership (package cluster), and stores nothing. All methods are safe for concurrent use, and do not block.
package discovery

import (
	"cmp"
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

// Service ranks gateways and edges.
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
	// MaxGateways are in an answer, and as many edges.
	MaxGateways = 8
	// Lifetime of an answer. Clients that reconnect within it do not ask.
	Lifetime = time.Minute
)

// FindGateways returns the gateways for a client, best first. asked is the address by which it asked, as https://chat.example.com; "" if that is not
// known. It is the answer if no node has an address of its own. Anyone may ask, so nodes and regions are not named.
func (s *Service) FindGateways(r *gatewayv1.FindGatewaysRequest, asked string) *gatewayv1.FindGatewaysResponse {
	answer := &gatewayv1.FindGatewaysResponse{TtlMs: uint32(Lifetime.Milliseconds())}
	answer.Edges = rank(s, s.edges(), r.Region, "")
	answer.Gateways = rank(s, s.gateways(), r.Region, r.Previous)
	if own := s.asked(asked); len(answer.Gateways) == 0 && own != nil {
		answer.Gateways = []*gatewayv1.Gateway{own}
	}
	return answer
}

// candidate is a server to which clients may be sent: a gateway or an edge. A client is given its address.
type candidate[T any] struct {
	node, region string
	// room is how many more connections it has.
	room    int64
	address T
}

// gateways returns those of the nodes that clients reach, and that do not stop.
func (s *Service) gateways() (list []candidate[*gatewayv1.Gateway]) {
	for _, g := range s.deps.Gateways() {
		if g.HasAddress() && !g.Draining {
			list = append(list, candidate[*gatewayv1.Gateway]{g.Node, g.Region, g.Capacity - g.Connections, &gatewayv1.Gateway{Ws: g.WS, Tcp: g.TCP, TcpTls: g.TCPTLS, Http: g.HTTP}})
		}
	}
	return list
}

// edges returns the edges that report to live nodes, each once.
func (s *Service) edges() (list []candidate[string]) {
	seen := map[string]bool{}
	for _, g := range s.deps.Gateways() {
		for _, e := range g.Edges {
			if !seen[e.URL] {
				seen[e.URL] = true
				list = append(list, candidate[string]{e.Name, e.Region, e.Capacity - e.Connections, e.URL})
			}
		}
	}
	return list
}

// EdgeAddresses returns the addresses of the edges to which clients are sent.
func (s *Service) EdgeAddresses() (list []string) {
	for _, e := range s.edges() {
		list = append(list, e.address)
	}
	return list
}

// Groups of candidates, best first.
const (
	isPrevious = iota
	isNear
	isFar
	isFull
)

// rank returns the addresses of the best candidates for a client, at most MaxGateways. previous is the node that the client was connected to; "" if it was to none.
func rank[T any](s *Service, candidates []candidate[T], region, previous string) []T {
	if region == "" {
		region = s.config.Region
	}
	type ranked struct {
		candidate[T]
		group int
		key   float64
	}
	list := make([]ranked, len(candidates))
	for i, c := range candidates {
		group, room := isFar, c.room
		switch {
		case room <= 0:
			group, room = isFull, 1
		case c.node == previous:
			group = isPrevious
		case c.region == region:
			group = isNear
		}
		// The smallest of exponential variables with the rates a, b, c … is the first one with the probability a / (a + b + c + …): each candidate gets new
		// clients in proportion to its room, however many ask before its next heartbeat tells of them.
		list[i] = ranked{c, group, -math.Log(1-s.deps.Random()) / float64(room)}
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
	})
	best := make([]T, 0, MaxGateways)
	for _, c := range list[:min(len(list), MaxGateways)] {
		best = append(best, c.address)
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
