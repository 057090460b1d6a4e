package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	rialto "github.com/rialto-im/rialto/sdk/go"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
)

// gatewaysOf asks a node for gateways.
func gatewaysOf(t *testing.T, h *Node) []*gatewayv1.Gateway {
	t.Helper()
	r, err := gatewayv1connect.NewGatewayServiceClient(http.DefaultClient, url(h)).FindGateways(t.Context(), connect.NewRequest(&gatewayv1.FindGatewaysRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.Gateways
}

// A node without settings answers with the address by which it was asked. One that stops is not offered, nor is another in its place.
func TestANodeAloneIsItsGateway(t *testing.T) {
	h, _ := open(t, "node=only", "tcp.listen=127.0.0.1:0")
	own := &gatewayv1.Gateway{Ws: "ws://" + h.Address().String() + "/v1/socket", Tcp: h.TCPAddress().String(), Http: url(h)}
	if got := gatewaysOf(t, h); len(got) != 1 || got[0].String() != own.String() {
		t.Errorf("got %v, want %v", got, own)
	}
	h, _ = open(t, "node=named", "public.url=https://node.example.com", "public.region=eu")
	want := &gatewayv1.Gateway{Ws: "wss://node.example.com/v1/socket", Http: "https://node.example.com"}
	eventually.True(t, "the first heartbeat was sent", func() bool { return len(h.cluster.Gateways()) == 1 })
	if got := gatewaysOf(t, h); len(got) != 1 || got[0].String() != want.String() {
		t.Errorf("with an address of its own: got %v, want %v", got, want)
	}
	h.leaving.Store(true)
	if got := gatewaysOf(t, h); len(got) != 1 || got[0].Http != url(h) {
		t.Errorf("while it stops: got %v, want the address that was asked", got)
	}
}

// A client that is given the address of a node without sockets finds one with sockets, and is connected there. A node that has stopped is not offered.
func TestGatewaysOfACluster(t *testing.T) {
	address, s3 := sqltest.Schema(t, sqltest.Postgres(t)), s3test.Start(t)
	var target atomic.Pointer[neturl.URL]
	public := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) }})
	t.Cleanup(public.Close)
	start := func(name, roles string, set ...string) *Node {
		shared := []string{"postgres=" + address, "s3.endpoint=" + s3.Endpoint, "s3.bucket=" + s3.Bucket(t), "s3.access_key=" + s3.AccessKey, "s3.secret_key=" + s3.SecretKey, "node=" + name, "roles=" + roles}
		h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), append(shared, set...)...), slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	calls := start("calls", "api,worker")
	t.Cleanup(func() {
		if err := calls.Close(); err != nil {
			t.Error(err)
		}
	})
	sockets := start("sockets", "gateway", "public.url="+public.URL, "public.region=eu")
	to, err := neturl.Parse(url(sockets))
	if err != nil {
		t.Fatal(err)
	}
	target.Store(to)
	want := &gatewayv1.Gateway{Ws: "ws" + public.URL[len("http"):] + "/v1/socket"}
	eventually.True(t, "a node offers the other one", func() bool {
		got := gatewaysOf(t, calls)
		return len(got) == 1 && got[0].String() == want.String()
	})
	online := make(chan bool, 100)
	alice, err := rialto.New(rialto.Config{URL: url(calls), Discover: true, Handler: func(e rialto.Event) {
		if e.Online != nil {
			online <- *e.Online
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := alice.Register(t.Context(), "alice", "a good password", "Alice"); err != nil {
		t.Fatal(err)
	}
	running(t, alice)
	if on := <-online; !on || sockets.gateway.Stats().Connections.Load() != 1 {
		t.Errorf("the client is online: %v, with %d connections at its gateway", on, sockets.gateway.Stats().Connections.Load())
	}
	if err := sockets.Close(); err != nil {
		t.Error(err)
	}
	eventually.True(t, "a node that has stopped is not offered", func() bool {
		got := gatewaysOf(t, calls)
		return len(got) == 1 && got[0].Http == url(calls)
	})
}
