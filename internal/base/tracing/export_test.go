package tracing

import "go.opentelemetry.io/otel/trace"

// ReadParent is contextOf.
func ReadParent(parent string) trace.SpanContext { return contextOf(parent) }
