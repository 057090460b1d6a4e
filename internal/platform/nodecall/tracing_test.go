package nodecall_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

// A call to another node is in the trace of who makes it.
func TestCallsAreTraced(t *testing.T) {
	b, r := membus.New(), tracingtest.New(t)
	responder(t, b, "a", says("yes"))
	ctx, span := r.Root("call")
	_, err := nodecall.FailFast{Timeout: time.Minute}.Ask(ctx, b, subject("a"), nil)
	must(t, err)
	if _, err := (nodecall.FailFast{Timeout: time.Minute}).Ask(ctx, b, subject("none"), nil); err == nil {
		t.Error("somebody has answered")
	}
	nodecall.FailSafe{Timeout: time.Minute}.Tell(ctx, b, nodecall.Nodes{Own: "b", Live: func() []string { return []string{"a", "b"} }}, subject, nil, nil)
	span.End(nil)
	spans := r.Spans()
	if len(spans) != 4 {
		t.Fatalf("the spans are %+v", spans)
	}
	for i, want := range []struct{ subject, failure string }{{subject("a"), ""}, {subject("none"), "unavailable bus_no_responder"}, {subject("a"), ""}} {
		if s := spans[i]; s.Name != "node.call" || s.Parent != "call" || s.Attributes["rialto.subject"] != want.subject || s.Failure != want.failure {
			t.Errorf("call %d is %+v", i, s)
		}
	}
}
