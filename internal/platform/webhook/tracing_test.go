package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// The operator's server can continue the trace of what causes a request.
func TestRequestsNameTheirTrace(t *testing.T) {
	headers := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header.Get("Traceparent") }))
	defer server.Close()
	h, err := webhook.New(webhook.Config{URL: server.URL, Secret: secret}, webhook.Kind{Kind: outgoing.CodeWebhook}, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := tracingtest.New(t)
	ctx, span := r.Root("call")
	if err := h.Call(ctx, "x", nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if traced, other := <-headers, <-headers; !strings.HasPrefix(traced, "00-"+span.TraceID()+"-") || other != "" {
		t.Errorf("the headers are %q, and %q without a trace", traced, other)
	}
}
