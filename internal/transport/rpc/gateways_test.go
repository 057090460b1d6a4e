package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/discovery"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const findGateways = "/rialto.gateway.v1.GatewayService/FindGateways"

// newDiscovery is that of a node alone, without an address of its own.
func newDiscovery() *discovery.Service {
	return discovery.New(discovery.Deps{Gateways: func() []cluster.Gateway { return nil }}, discovery.Config{Alone: true, Sockets: true})
}

func ofGateways() map[string]row {
	return map[string]row{findGateways: own(func(subject) proto.Message { return &gatewayv1.FindGatewaysRequest{} })}
}

// A node without an address of its own answers with the one by which it was asked. Only a proxy says what the client used before it.
func TestTheAddressOfARequest(t *testing.T) {
	h := newHarness(t)
	for _, test := range []struct {
		proxied            bool
		host, proto, first string
		want               string
	}{
		{false, "127.0.0.1:7070", "", "", "ws://127.0.0.1:7070/v1/socket"},
		{false, "chat.example.com", "https", "other.example.com", "ws://chat.example.com/v1/socket"},
		{true, "chat.example.com", "https", "", "wss://chat.example.com/v1/socket"},
		{true, "10.0.0.1:7070", "https, http", "chat.example.com, inner", "wss://chat.example.com/v1/socket"},
		{true, "10.0.0.1:7070", "http", "a b", ""},
		{false, "user@host", "", "", ""},
	} {
		h.deps.Proxied = test.proxied
		h.Server = rpc.New(h.deps)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, findGateways, strings.NewReader("{}"))
		r.Host = test.host
		r.Header.Set("Content-Type", asJSON)
		r.Header.Set("X-Forwarded-Proto", test.proto)
		r.Header.Set("X-Forwarded-Host", test.first)
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		var found gatewayv1.FindGatewaysResponse
		h.into(&found, answer{w.Code, w.Header(), w.Body.String()})
		got := ""
		if len(found.Gateways) == 1 {
			got = found.Gateways[0].Ws
		}
		if got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}

// Looking for gateways counts as a call of its address, and is no attempt at a login: neither uses up the limit of the other.
func TestFindGatewaysHasTheLimitOfCalls(t *testing.T) {
	h := newHarness(t)
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{CallAddress: "200/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	const from = "192.0.2.7:80"
	for range 101 { // of which 100 in a minute may fail
		h.from(from, accounts+"Login", &accountv1.LoginRequest{Handle: "nobody", Password: "a wrong one"})
	}
	if got := h.from(from, accounts+"Login", &accountv1.LoginRequest{Handle: "nobody", Password: "a wrong one"}); got.reason() != "too_many_logins" {
		t.Fatalf("another login is answered %q", got.reason())
	}
	for i := range 200 {
		if got := h.from(from, findGateways, &gatewayv1.FindGatewaysRequest{}); got.status != http.StatusOK {
			t.Fatalf("call %d is answered %d %s", i, got.status, got.body)
		}
	}
	if got := h.from(from, findGateways, &gatewayv1.FindGatewaysRequest{}); got.reason() != "too_many_requests" || got.header.Get("Retry-After") == "" {
		t.Errorf("one call too many is answered %d %s", got.status, got.body)
	}
	if got := h.from("198.51.100.1:80", findGateways, &gatewayv1.FindGatewaysRequest{}); got.status != http.StatusOK {
		t.Errorf("a call from another address is answered %d %s", got.status, got.body)
	}
}
