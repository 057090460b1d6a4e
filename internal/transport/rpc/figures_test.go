package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/transport/rpc"
)

// TestDisconnectedCallersAreNotFailures: a call is counted by the code of its answer, except if the caller has disconnected, which is not a
// failure of the server.
func TestDisconnectedCallersAreNotFailures(t *testing.T) {
	h := newHarness(t)
	alice := h.person("alice")
	deps := h.deps
	deps.Calls = telemetry.NewCalls()
	leave := func() {}
	deps.Media = failing{h.media, func() error {
		leave()
		return context.Canceled
	}}
	server := rpc.New(deps).Handler()
	const name = "/rialto.chat.v1.MediaService/CreateUpload"
	for _, leaves := range []bool{true, false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		if leave = func() {}; leaves {
			leave = cancel
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, name, strings.NewReader(`{"name":"a","mimeType":"text/plain","size":"1"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+alice.AccessToken)
		server.ServeHTTP(httptest.NewRecorder(), r)
		cancel()
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(deps.Calls)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if m.Counter != nil && m.Label[0].GetValue() == name {
				counted[m.Label[1].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	if len(counted) != 2 || counted["ok"] != 0 || counted["unavailable"] != 1 {
		t.Errorf("of two disconnected callers and one connected, the metrics count %v", counted)
	}
}
