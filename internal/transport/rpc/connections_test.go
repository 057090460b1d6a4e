package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// TestConnectionsOfAUserAreBounded: connections on which a user has made a call count, until they are closed or become sockets. Those of proxies have many users.
func TestConnectionsOfAUserAreBounded(t *testing.T) {
	h := newHarness(t)
	alice, bert := h.person("alice").AccessToken, h.person("bert").AccessToken
	connections := inputlimit.NewConnections(1000, 1000)
	connect := func(from string) *inputlimit.Slot {
		t.Helper()
		network := netip.Prefix{}
		if from != "" {
			network = netip.MustParsePrefix(from)
		}
		slot, ok := connections.Acquire(network)
		if !ok {
			t.Fatal("there are too many connections")
		}
		return slot
	}
	call := func(slot *inputlimit.Slot, token, want string) {
		t.Helper()
		r := httptest.NewRequestWithContext(inputlimit.WithSlot(t.Context(), slot), http.MethodPost, chats+"ListConversations", strings.NewReader("{}"))
		r.Header.Set("Content-Type", asJSON)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if got := (answer{w.Code, w.Header(), w.Body.String()}).reason(); got != want || (want != "") != (w.Header().Get("Connection") == "close") {
			t.Errorf("the call is answered with %q and %v, want %q", got, w.Header(), want)
		}
	}
	var first, second *inputlimit.Slot
	for i := range 200 {
		slot := connect("192.0.2.1/32")
		call(slot, alice, "")
		if first, second = second, slot; i == 0 {
			call(slot, alice, "") // it is counted once
			call(slot, bert, "")  // and for its first user only
		}
	}
	call(connect("192.0.2.2/32"), alice, "too_many_connections")
	if n := connections.Count(); n != 1 {
		t.Errorf("%d connections are without credentials, want the refused one", n)
	}
	call(connect("192.0.2.1/32"), bert, "")
	call(connect(""), alice, "")
	first.Closed()
	first.Closed()
	second.Detach()
	for range 2 {
		call(connect("192.0.2.2/32"), alice, "")
	}
	call(connect("192.0.2.2/32"), alice, "too_many_connections")
}
