package cassandralog

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// refusal is an error that Cassandra answered.
type refusal int

func (r refusal) Code() int       { return int(r) }
func (r refusal) Message() string { return "refused" }
func (r refusal) Error() string   { return fmt.Sprintf("refused with %#x", int(r)) }

// Callers may retry what failed since nodes or connections did, and are not told to retry what always fails.
func TestErrorsOfTheDriverAreClassified(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		kind errs.Kind
	}{
		{t.Context(), &gocql.RequestErrUnavailable{}, errs.Unavailable},
		{t.Context(), &gocql.RequestErrReadTimeout{}, errs.Unavailable},
		{t.Context(), fmt.Errorf("a read: %w", refusal(gocql.ErrCodeOverloaded)), errs.Unavailable},
		{t.Context(), gocql.ErrTimeoutNoResponse, errs.Unavailable},
		{t.Context(), gocql.ErrNoConnections, errs.Unavailable},
		{t.Context(), errNodeSilent, errs.Unavailable},
		{t.Context(), refusal(gocql.ErrCodeSyntax), errs.Internal},
		{t.Context(), fmt.Errorf("a read: %w", refusal(gocql.ErrCodeUnauthorized)), errs.Internal},
		{t.Context(), gocql.ErrFrameTooBig, errs.Internal},
		{t.Context(), gocql.ErrNotFound, errs.Internal}, // its callers handle it
		{gone, gocql.ErrTimeoutNoResponse, errs.Internal},
	} {
		got := classify(c.ctx, c.err)
		if !errs.Is(got, c.kind) || !errors.Is(got, c.err) {
			t.Errorf("%v: got %v, which is %v; want it within an error that is %v", c.err, got, errs.Of(got).Kind, c.kind)
		}
		if twice := errStore(got); c.kind == errs.Unavailable && twice != got {
			t.Errorf("%v is classified twice: %v", c.err, twice)
		}
	}
	if err := classify(gone, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := classify(gone, gocql.ErrTimeoutNoResponse); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of a caller that has gone is %v", err)
	}
}

// Reads and writes of a session without connections fail with an error that may be retried.
func TestReadsAreClassifiedAsWritesAre(t *testing.T) {
	l := &Log{session: &gocql.Session{}, cache: newCache(cachedKeys)}
	l.session.Close()
	k := timeline.Key{Kind: timeline.Conversation, ID: 1}
	for name, do := range map[string]func() error{
		"Read":           func() error { _, err := l.Read(t.Context(), k, 0, 10); return err },
		"ReadBackward":   func() error { _, err := l.ReadBackward(t.Context(), k, 0, 10); return err },
		"Get":            func() error { _, err := l.Get(t.Context(), []timeline.Ref{{Key: k, From: 1, To: 1}}); return err },
		"Tails":          func() error { _, err := l.Tails(t.Context(), []timeline.Key{k, k}); return err },
		"Keys":           func() error { _, err := l.Keys(t.Context(), timeline.Conversation, 0, 10); return err },
		"LatestByAuthor": func() error { _, _, err := l.LatestByAuthor(t.Context(), k, 1); return err },
		"a write":        func() error { return l.registerKey(t.Context(), k) },
		"a condition":    func() error { _, err := l.query(t.Context(), insertMeta, 1, 1, 1).CAS(); return err },
		"a batch":        func() error { return l.batch(t.Context()).Exec() },
		"a cond. batch":  func() error { _, err := l.batch(t.Context()).apply(); return err },
	} {
		if err := do(); !errs.Is(err, errs.Unavailable) || !errors.Is(err, gocql.ErrSessionClosed) {
			t.Errorf("%s: got %v, want an error of the session that is Unavailable", name, err)
		}
	}
}
