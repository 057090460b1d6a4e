package cache_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"go.opentelemetry.io/otel/trace"
)

// A load is in the trace of the caller who began it, with what it asks the database. A copy that is there leaves none.
func TestLoadsAreTraced(t *testing.T) {
	c, err := cache.New(cache.Deps{Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Metrics: cache.NewMetrics()}, cache.Config[post, int]{Name: "posts",
		Load: func(ctx context.Context, keys []post, _ bool) (map[post]int, error) {
			_, span := tracing.Start(ctx, "sql.statement", trace.SpanKindClient)
			span.End(nil)
			return map[post]int{1: 10}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	r := tracingtest.New(t)
	ctx, call := r.Root("call")
	for range 2 {
		if v, _, err := c.Get(ctx, 1); err != nil || v != 10 {
			t.Fatalf("the value is %v, want 10; error %v", v, err)
		}
	}
	if _, found, err := c.Get(t.Context(), 2); err != nil || found {
		t.Fatalf("a row that does not exist was found: %v; error %v", found, err)
	}
	call.End(nil)
	spans := r.Spans()
	if len(spans) != 3 || spans[0].Name != "sql.statement" || spans[0].Parent != "cache.load" || spans[1].Name != "cache.load" || spans[1].Parent != "call" ||
		spans[1].Attributes["rialto.cache"] != "posts" || spans[1].Attributes["rialto.cache.missing"] != "1" {
		t.Errorf("the spans are %+v", spans)
	}
}
