package job_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"go.opentelemetry.io/otel/trace"
)

// An attempt is a trace, with what the worker does.
func TestAttemptsAreTraced(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	defer db.Close()
	r := tracingtest.New(t)
	s, err := job.New(t.Context(), job.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Node: "a", Tracer: r.Tracer}, job.Config{})
	must(t, err)
	stop := start(t, s, workers(1, func(ctx context.Context, j job.Job[work]) error {
		_, span := tracing.Start(ctx, "inner", trace.SpanKindInternal)
		span.End(nil)
		if j.Args.N == 2 {
			return job.Discard(errWork)
		}
		return nil
	}))
	reaches(t, s, insert(t, s, 1, job.Options{}), job.Completed)
	reaches(t, s, insert(t, s, 2, job.Options{}), job.Discarded)
	stop()
	var attempts []tracingtest.Span
	inner := 0
	for _, span := range r.Spans() {
		switch span.Name {
		case "job.attempt":
			attempts = append(attempts, span)
		case "inner":
			inner++
			if span.Parent != "job.attempt" {
				t.Errorf("a worker is traced in %q", span.Parent)
			}
		}
	}
	if len(attempts) != 2 || inner != 2 || attempts[0].Failure != "" || attempts[1].Failure == "" || attempts[0].Trace == attempts[1].Trace || attempts[0].Attributes["rialto.job.kind"] != "work" || attempts[0].Attributes["rialto.job.queue"] != job.DefaultQueue {
		t.Errorf("the attempts are %+v, with %d spans of workers", attempts, inner)
	}
}
