package rialto_test

import (
	"context"
	"sync"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
)

// finder answers FindGateways.
type finder struct {
	gatewayv1connect.UnimplementedGatewayServiceHandler
	mu    sync.Mutex // guards all
	list  []*gatewayv1.Gateway
	edges []string
	ttlMs uint32
	down  bool
	asked []*gatewayv1.FindGatewaysRequest
}

func (f *finder) FindGateways(_ context.Context, r *connect.Request[gatewayv1.FindGatewaysRequest]) (*connect.Response[gatewayv1.FindGatewaysResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.Msg)
	if f.down {
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	return connect.NewResponse(&gatewayv1.FindGatewaysResponse{Gateways: f.list, Edges: f.edges, TtlMs: f.ttlMs}), nil
}

// visits records which nodes a client comes to, in order; each connection ends as the node's script says.
type visits chan string

// node starts a server that stands for a node.
func (v visits) node(t *testing.T, name string, script func(c *conn)) *server {
	return start(t, &server{node: name, script: func(_ int, c *conn) {
		v <- name
		script(c)
	}})
}

func at(s *server, name string) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{Node: name, Ws: "ws" + s.url[len("http"):] + "/v1/socket"}
}

func (v visits) expect(t *testing.T, names ...string) {
	t.Helper()
	for _, want := range names {
		if got := <-v; got != want {
			t.Fatalf("the client came to %s, want %s", got, want)
		}
	}
}

// discovering starts a deployment's address with a finder, and a client that is logged in there.
func discovering(t *testing.T, v visits, f *finder) (*server, *rialto.Client) {
	s := start(t, &server{node: "balancer", finder: f, script: func(_ int, c *conn) {
		v <- "balancer"
		c.untilGone()
	}})
	s.discover = true
	c, _ := s.client(nil)
	return s, c
}

// A client connects to the gateway that is named first, and stays with it: after a broken connection it returns there, without asking again.
func TestAClientReturnsToItsGateway(t *testing.T) {
	v, f := make(visits, 10), &finder{ttlMs: 60_000}
	breaks := make(chan struct{})
	a := v.node(t, "a", func(*conn) { <-breaks })
	b := v.node(t, "b", func(c *conn) { c.untilGone() })
	f.list = []*gatewayv1.Gateway{at(a, "a"), at(b, "b")}
	_, c := discovering(t, v, f)
	run(t, c)
	t.Cleanup(func() { close(breaks) })
	v.expect(t, "a")
	breaks <- struct{}{}
	v.expect(t, "a")
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) != 1 {
		t.Errorf("it asked %d times", len(f.asked))
	}
}

// A gateway that does not answer, and one that stops, are tried last. The list outlives discoveries that fail, and says which node the client was with.
func TestAFailingGatewayIsTriedLast(t *testing.T) {
	v, f := make(visits, 10), &finder{} // asked before each try
	stops := make(chan struct{})
	stop := sync.OnceFunc(func() { close(stops) })
	gone := &server{}
	leave := gone.open()
	b := v.node(t, "b", func(c *conn) {
		<-stops
		c.write(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: 4000, Reason: "draining"}})
	})
	d := v.node(t, "d", func(c *conn) { c.untilGone() })
	f.list = []*gatewayv1.Gateway{at(gone, "gone"), {Node: "no sockets"}, {Node: "strange", Ws: "file:///etc"}, at(b, "b"), at(d, "d")}
	leave() // nobody listens there
	_, c := discovering(t, v, f)
	run(t, c)
	t.Cleanup(stop)
	v.expect(t, "b")
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	stop()
	v.expect(t, "d")
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.asked[len(f.asked)-1]; len(f.asked) < 3 || last.Previous != "b" {
		t.Errorf("it asked %d times, with the previous node %q, want b", len(f.asked), last.Previous)
	}
}

// Without gateways, and where all of them fail, the client connects to the address that it was given.
func TestTheGivenAddressIsTheLastResort(t *testing.T) {
	for name, list := range map[string][]*gatewayv1.Gateway{"none": nil, "all fail": {{Node: "x", Ws: "ws://127.0.0.1:1/v1/socket"}}} {
		t.Run(name, func(t *testing.T) {
			v := make(visits, 10)
			_, c := discovering(t, v, &finder{list: list, ttlMs: 60_000})
			run(t, c)
			v.expect(t, "balancer")
		})
	}
}

// A client that is not told to discover does not ask.
func TestAClientThatDoesNotDiscover(t *testing.T) {
	v, f := make(visits, 10), &finder{ttlMs: 60_000}
	other := v.node(t, "other", func(c *conn) { c.untilGone() })
	f.list = []*gatewayv1.Gateway{at(other, "other")}
	s, _ := discovering(t, v, f)
	s.discover = false
	c, _ := s.client(nil)
	run(t, c)
	v.expect(t, "balancer")
	if len(f.asked) > 0 {
		t.Error("it asked for gateways")
	}
}
