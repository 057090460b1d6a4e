package rpc

import (
	"context"
	"strings"

	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/trace"
)

// trace begins the trace of a call if it is sampled. parent is the caller's header traceparent, "" if there is none. The span's name is without a
// slash before it, as OpenTelemetry has names of calls.
func (p *procedure) trace(ctx context.Context, parent string) (context.Context, *tracing.Span) {
	name := strings.TrimPrefix(p.name, "/")
	ctx, span := p.server.deps.Tracer.Root(ctx, name, trace.SpanKindServer, parent)
	span.Text("rpc.method", name)
	return ctx, span
}
