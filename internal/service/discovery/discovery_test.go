package discovery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/discovery"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

func gateway(node, region string, connections int64) cluster.Gateway {
	return cluster.Gateway{Node: node, Region: region, WS: "wss://" + node + "/v1/socket", HTTP: "https://" + node, Connections: connections, Capacity: 1000}
}

// find returns the nodes of an answer by their addresses, in order.
func find(s *discovery.Service, region, previous string) (nodes []string) {
	for _, g := range s.FindGateways(&gatewayv1.FindGatewaysRequest{Region: region, Previous: previous}, "https://any.example.com").Gateways {
		nodes = append(nodes, strings.TrimPrefix(g.Http, "https://"))
	}
	return nodes
}

// newService returns a service of a node in the region "eu", with a fixed seed.
func newService(list ...cluster.Gateway) *discovery.Service {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers in each run
	return discovery.New(discovery.Deps{Gateways: func() []cluster.Gateway { return list }, Random: r.Float64}, discovery.Config{Region: "eu"})
}

// The previous gateway is first, then those of the client's region, then others, then full ones. Nodes that stop, and nodes without an address, are not offered.
func TestGatewaysAreRankedByRegionLoadAndHealth(t *testing.T) {
	stopping := gateway("stopping", "eu", 0)
	stopping.Draining = true
	s := newService(gateway("eu1", "eu", 10), gateway("us1", "us", 0), gateway("full", "eu", 1000), stopping, cluster.Gateway{Node: "behind a balancer", Region: "eu", Capacity: 1000})
	for _, test := range []struct {
		region, previous string
		want             []string
	}{
		{"", "", []string{"eu1", "us1", "full"}}, // the region of the node that answers
		{"us", "", []string{"us1", "eu1", "full"}},
		{"nowhere", "us1", []string{"us1", "eu1", "full"}},
		{"eu", "us1", []string{"us1", "eu1", "full"}},
		{"eu", "stopping", []string{"eu1", "us1", "full"}},
		{"eu", "full", []string{"eu1", "us1", "full"}},
		{"eu", "dead", []string{"eu1", "us1", "full"}},
	} {
		if got := find(s, test.region, test.previous); !slices.Equal(got, test.want) {
			t.Errorf("in %q, after %q: got %v, want %v", test.region, test.previous, got, test.want)
		}
	}
}

// Whoever asks needs no credentials, and learns addresses: neither the names of nodes nor their regions.
func TestAnAnswerNamesNoNodes(t *testing.T) {
	list := newService(gateway("a", "eu", 1), gateway("b", "us", 1)).FindGateways(&gatewayv1.FindGatewaysRequest{Previous: "a"}, "").Gateways
	if len(list) != 2 {
		t.Fatalf("%d gateways are found, want 2", len(list))
	}
	for i, want := range []string{"a", "b"} {
		if g := list[i]; g.String() != (&gatewayv1.Gateway{Ws: "wss://" + want + "/v1/socket", Http: "https://" + want}).String() {
			t.Errorf("gateway %d is %v, want that of %s by its addresses alone", i, g, want)
		}
	}
}

// A herd of clients that ask at the same moment spreads over the gateways in proportion to their room.
func TestAHerdSpreadsByRoom(t *testing.T) {
	s := newService(gateway("empty", "eu", 0), gateway("half", "eu", 500), gateway("busy", "eu", 900), gateway("full", "eu", 1000))
	first := map[string]int{}
	const clients = 16_000
	for range clients {
		first[find(s, "eu", "")[0]]++
	}
	for node, want := range map[string]int{"empty": clients * 10 / 16, "half": clients * 5 / 16, "busy": clients * 1 / 16, "full": 0} {
		if got := first[node]; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s is first for %d of %d clients, want about %d", node, got, clients, want)
		}
	}
}

// An answer is small, however many nodes there are.
func TestAnAnswerIsBounded(t *testing.T) {
	var list []cluster.Gateway
	for i := range 100 {
		list = append(list, gateway(fmt.Sprint("n", i), "eu", 0))
	}
	got := find(newService(list...), "eu", "n57")
	if len(got) != discovery.MaxGateways || got[0] != "n57" {
		t.Errorf("got %v, want %d with n57 first", got, discovery.MaxGateways)
	}
}

// Where no node has an address of its own, the address by which the client asked is the answer.
func TestTheAddressByWhichAClientAsked(t *testing.T) {
	none := func() []cluster.Gateway { return []cluster.Gateway{{Node: "a", Capacity: 1000}} }
	alone := discovery.New(discovery.Deps{Gateways: none}, discovery.Config{Alone: true, Sockets: true, TCPPort: 7171})
	several := discovery.New(discovery.Deps{Gateways: none}, discovery.Config{Sockets: true, TCPPort: 7171})
	for _, test := range []struct {
		service *discovery.Service
		asked   string
		want    *gatewayv1.Gateway
	}{
		{alone, "http://127.0.0.1:7070", &gatewayv1.Gateway{Ws: "ws://127.0.0.1:7070/v1/socket", Tcp: "127.0.0.1:7171", Http: "http://127.0.0.1:7070"}},
		{alone, "https://[::1]:7070", &gatewayv1.Gateway{Ws: "wss://[::1]:7070/v1/socket", Tcp: "[::1]:7171", Http: "https://[::1]:7070"}},
		// A balancer may lead to another node next time, and its port of TCP is not known.
		{several, "https://chat.example.com", &gatewayv1.Gateway{Ws: "wss://chat.example.com/v1/socket", Http: "https://chat.example.com"}},
		{alone, "", nil},
		{alone, "https://a b", nil},
		{alone, "https://user@host", nil},
		{alone, "https://host/path", nil},
	} {
		got := test.service.FindGateways(&gatewayv1.FindGatewaysRequest{}, test.asked)
		if got.TtlMs == 0 {
			t.Errorf("%s: the answer has no time to live", test.asked)
		}
		switch {
		case test.want == nil && len(got.Gateways) > 0:
			t.Errorf("%s: got %v, want none", test.asked, got.Gateways)
		case test.want != nil && (len(got.Gateways) != 1 || got.Gateways[0].String() != test.want.String()):
			t.Errorf("%s: got %v, want %v", test.asked, got.Gateways, test.want)
		}
	}
}

// TestEdgesAreRanked: clients are told of the edges of live nodes, each once: those of their region first, then others, then full ones.
func TestEdgesAreRanked(t *testing.T) {
	edges := func(list ...cluster.Edge) cluster.Gateway { return cluster.Gateway{Node: "n", Edges: list} }
	edge := func(name, region string, room int64) cluster.Edge {
		return cluster.Edge{Name: name, Region: region, URL: "https://" + name, Connections: 100 - room, Capacity: 100}
	}
	s := newService(edges(edge("full", "eu", 0), edge("us", "us", 100), edge("eu", "eu", 5)), edges(edge("eu", "eu", 5)), edges())
	if got := s.FindGateways(&gatewayv1.FindGatewaysRequest{Region: "eu"}, "").Edges; !slices.Equal(got, []string{"https://eu", "https://us", "https://full"}) {
		t.Errorf("the edges for eu are %v", got)
	}
	if got := s.FindGateways(&gatewayv1.FindGatewaysRequest{Region: "us"}, "").Edges; len(got) != 3 || got[0] != "https://us" {
		t.Errorf("the edges for us are %v", got)
	}
	if got := s.EdgeAddresses(); len(got) != 3 {
		t.Errorf("the addresses are %v", got)
	}
}
