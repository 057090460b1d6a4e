// Package outgoingtest opens and closes circuits in tests, without waiting.
package outgoingtest

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// OpenFor is how long an open circuit stays open.
const OpenFor = time.Hour

// New returns Calls whose circuits stay open for OpenFor, so that a slow machine does not close them.
func New() *outgoing.Calls {
	return outgoing.NewWith(slog.New(slog.DiscardHandler), func(k outgoing.Kind) outgoing.Policy {
		p := k.Policy()
		p.OpenFor = OpenFor
		return p
	})
}

const most = 10_000 // calls that are made to change a circuit

// Open opens the circuit of a destination, which has to be closed.
func Open(t testing.TB, c *outgoing.Calls, kind outgoing.Kind, key string) {
	t.Helper()
	for range most {
		if !passes(t, c, kind, key, errors.New("it fails in this test")) {
			return
		}
	}
	t.Fatal("the circuit does not open")
}

// Forget makes the circuit of a destination closed, by calls to so many others that it is forgotten.
func Forget(t testing.TB, c *outgoing.Calls, kind outgoing.Kind) {
	t.Helper()
	for n := range most {
		if !passes(t, c, kind, "other"+strconv.Itoa(n), nil) {
			t.Fatal("a new destination is refused")
		}
	}
}

// passes reports whether a call is made, whose failure is given.
func passes(t testing.TB, c *outgoing.Calls, kind outgoing.Kind, key string, failure error) bool {
	t.Helper()
	err := c.Do(context.Background(), kind, key, time.Minute, func(context.Context) outgoing.Outcome { return outgoing.Outcome{Failure: failure} })
	if err != nil && !outgoing.IsRefused(err) {
		t.Fatal(err)
	}
	return err == nil
}

// Refused returns how many calls of a kind were refused because a circuit was open.
func Refused(t testing.TB, c *outgoing.Calls, kind outgoing.Kind) (n int) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "rialto_outgoing_calls_total" && m.Label[0].GetValue() == string(kind) && m.Label[1].GetValue() == "refused_open" {
				n += int(m.Counter.GetValue())
			}
		}
	}
	return n
}
