package outgoing_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
)

// A call to another server is in the trace of who makes it, with its host and without the rest of its address.
func TestCallsAreTraced(t *testing.T) {
	calls, r := outgoing.New(slog.New(slog.DiscardHandler)), tracingtest.New(t)
	ctx, span := r.Root("call")
	attempts := 0
	err := calls.Do(ctx, outgoing.S3, "https://files.example.com/a-secret", time.Minute, func(context.Context) outgoing.Outcome {
		if attempts++; attempts == 1 {
			return outgoing.Outcome{Failure: errors.New("a secret"), Retryable: true}
		}
		return outgoing.Outcome{}
	})
	if err != nil || attempts != 2 {
		t.Fatalf("%d attempts, want 2; error %v", attempts, err)
	}
	if err := calls.Do(ctx, outgoing.WebPush, "push.example.com", time.Minute, func(context.Context) outgoing.Outcome { return outgoing.Outcome{Failure: errors.New("a secret")} }); err != nil {
		t.Fatal(err)
	}
	if err := calls.Do(t.Context(), outgoing.WebPush, "push.example.com", time.Minute, func(context.Context) outgoing.Outcome { return outgoing.Outcome{} }); err != nil {
		t.Fatal(err)
	}
	span.End(nil)
	spans := r.Spans()
	if len(spans) != 3 {
		t.Fatalf("the spans are %+v", spans)
	}
	for i, want := range []map[string]string{{"rialto.kind": "s3", "server.address": "files.example.com", "rialto.attempts": "2"}, {"rialto.kind": "web_push", "server.address": "push.example.com", "rialto.attempts": "1"}} {
		s := spans[i]
		if s.Name != "outgoing.call" || s.Parent != "call" || len(s.Attributes) != len(want) {
			t.Errorf("a call is %+v", s)
		}
		for key, value := range want {
			if s.Attributes[key] != value {
				t.Errorf("%s is %q, want %q", key, s.Attributes[key], value)
			}
		}
	}
}
