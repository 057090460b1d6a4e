// Package outgoing protects this process, and the servers that it calls, when calls to them fail. Each call has a timeout; each destination has a circuit
// breaker and a retry budget. The parameters of each kind of calls are declared in kinds.go.
//
// The circuit of a destination opens when, of the calls of the last minute, 10 or more have ended and half of them failed. Then calls are refused at once,
// for as long as the kind declares. After that three calls pass. If all succeed, the circuit closes; if one fails, it is open again.
//
// A call fails if it has no answer in time, an answer with a status of 500 or more, or an answer that its caller cannot parse. An answer with a status of 4xx is no
// failure, because the server works. A call that its caller cancelled counts neither way. A kind may declare that an answer with Retry-After (of a status of 429 or
// 503) pauses the destination: no call is made until then, for a minute at most.
//
// A kind may declare that a failed call is retried at once, within its timeout. Of the calls to a destination in the last 10 seconds, one in ten may be such
// retries, and a few more, as the kind declares. Beyond that budget a call fails at once. Kinds whose calls a durable queue retries declare no retries, so that only one layer retries.
//
// A refused call has a *Refused as its error. Nothing was sent, so it is no attempt: durable queues wait for Refused.Delay.
//
// All types are safe for concurrent use.
package outgoing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/trace"
)

const (
	// A circuit opens if the calls of the last window that have ended are minCalls or more, and half of them failed.
	// So ten calls in a row that run into a timeout of 5 seconds open it.
	window, windowParts = time.Minute, 12
	minCalls            = 10
	// probes are the calls that pass a circuit which was open, and that must succeed.
	probes = 3
	// probeWait is after how long a call is to be tried again that was refused while probes are in progress.
	probeWait = time.Second
	// maxPause bounds how long an answer can pause a destination.
	maxPause = time.Minute
	// maxDelay bounds Refused.Delay.
	maxDelay = 5 * time.Minute
	// retryAfterFirst is the delay before the first retry of a call, retryAfterLongest before later ones.
	retryAfterFirst, retryAfterLongest = 50 * time.Millisecond, 200 * time.Millisecond
	maxText                            = 200 // bytes of an error
)

// Calls are all calls of this process to other servers.
type Calls struct {
	kinds map[Kind]*destinations
}

// New returns Calls of which no destination has failed. Changes of circuits are logged.
func New(logger *slog.Logger) *Calls { return NewWith(logger, Kind.Policy) }

// NewWith is New with other policies than those that are declared, for tests.
func NewWith(logger *slog.Logger, policy func(Kind) Policy) *Calls {
	c := &Calls{kinds: map[Kind]*destinations{}}
	for _, kind := range Kinds() {
		c.kinds[kind] = newDestinations(kind, policy(kind), logger)
	}
	return c
}

// OrNew returns calls, or if it is nil new Calls that log nothing.
func OrNew(calls *Calls) *Calls {
	if calls == nil {
		calls = New(slog.New(slog.DiscardHandler))
	}
	return calls
}

// Outcome of an attempt, as far as it says something about the destination.
type Outcome struct {
	// Failure is why the destination has failed; nil if it works.
	Failure error
	// Retryable failures are tried again at once, if the kind and the budget allow it.
	Retryable bool
	// Pause is how long the destination asks not to be called; 0: it does not.
	Pause time.Duration
}

// OutcomeOf returns the outcome of a request over HTTP that has failed with err, or was answered with a status and with a Retry-After, 0 if there is none.
func OutcomeOf(status int, retryAfter time.Duration, err error) Outcome {
	switch {
	case err != nil:
		return Outcome{Failure: err, Retryable: true}
	case status >= http.StatusInternalServerError:
		o := Outcome{Failure: fmt.Errorf("status %d", status)}
		switch status {
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			o.Retryable = true
		case http.StatusServiceUnavailable:
			o.Retryable, o.Pause = retryAfter == 0, retryAfter
		}
		return o
	case status == http.StatusTooManyRequests:
		return Outcome{Pause: retryAfter}
	}
	return Outcome{}
}

// Refused is the error of a call that was not made.
type Refused struct {
	Kind Kind
	// Host that was to be called.
	Host string
	// Wait is after how long a call may pass.
	Wait time.Duration
	why  string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s is not called for %v: %s", r.Host, r.Wait.Round(time.Millisecond), r.why)
}

// IsRefused reports whether an error is that of a call that was not made.
func IsRefused(err error) bool {
	var refused *Refused
	return errors.As(err, &refused)
}

// Delay returns after how long a durable queue tries again what has waited for so long already: a quarter of that, but not before a call may pass, and 5 minutes
// at most. It is random, so that what was refused together does not return together.
func (r *Refused) Delay(waited time.Duration) time.Duration {
	d := max(min(waited/4, maxDelay), r.Wait)
	return backoff.Spread(d, d+d/2)
}

// Do makes a call to a destination, which its key names within its kind. The timeout is for all attempts together. It returns a *Refused if none was made.
// Otherwise call was called at least once, one attempt after the other, and its last result counts.
func (c *Calls) Do(ctx context.Context, kind Kind, key string, timeout time.Duration, call func(ctx context.Context) Outcome) error {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.try(ctx, within, kind, key, func() Outcome { return call(within) })
}

// Try is Do for calls that bound their attempts themselves, for instance because their answers are read later.
func (c *Calls) Try(ctx context.Context, kind Kind, key string, call func() Outcome) error {
	return c.try(ctx, ctx, kind, key, call)
}

// try makes a call of ctx, again until within ends, and records it if ctx is traced.
func (c *Calls) try(ctx, within context.Context, kind Kind, key string, call func() Outcome) error {
	_, span := tracing.Start(ctx, "outgoing.call", trace.SpanKindClient)
	if span == nil {
		return c.attempts(ctx, within, kind, key, call)
	}
	span.Text("rialto.kind", string(kind))
	span.Text("server.address", hostOf(key))
	attempts, last := 0, Outcome{}
	err := c.attempts(ctx, within, kind, key, func() Outcome {
		attempts++
		last = call()
		return last
	})
	span.Int("rialto.attempts", attempts)
	span.End(cmp.Or(err, last.Failure))
	return err
}

// attempts makes the attempts of a call.
func (c *Calls) attempts(ctx, within context.Context, kind Kind, key string, call func() Outcome) error {
	d := c.kinds[kind].of(key)
	delay := backoff.New(retryAfterFirst, retryAfterLongest)
	for n := 0; ; n++ {
		a, err := d.begin()
		if err != nil {
			if n > 0 {
				return nil // the result of the attempt before counts
			}
			return err
		}
		o := a.run(ctx, call)
		if o.Failure == nil || !o.Retryable || n >= d.policy.Retries || within.Err() != nil || !d.mayRetry() || delay.Wait(within) != nil {
			return nil
		}
	}
}

// Begin begins an attempt that is not made by Do. Its End or its Abandon must follow. It returns a *Refused if the attempt may not be made.
func (c *Calls) Begin(kind Kind, key string) (*Attempt, error) { return c.kinds[kind].of(key).begin() }

// Attempt of a call.
type Attempt struct {
	destination *destination
	done        func(error)
}

// errExcluded is given to the breaker for attempts that say nothing about the destination.
var errExcluded = errors.New("the caller gave up")

// End ends an attempt. ctx is the caller's: a failure after its end says nothing about the destination.
func (a *Attempt) End(ctx context.Context, o Outcome) {
	d := a.destination
	switch {
	case o.Failure == nil:
		d.all.results[ok].Add(1)
		a.done(nil)
	case ctx.Err() != nil:
		a.Abandon()
		return
	default:
		d.all.results[failed].Add(1)
		d.setLast(o.Failure)
		a.done(o.Failure)
	}
	if o.Pause > 0 && d.policy.Pauses {
		d.pause(min(o.Pause, maxPause))
	}
}

// Abandon ends an attempt that says nothing about the destination.
func (a *Attempt) Abandon() {
	a.destination.all.results[cancelled].Add(1)
	a.done(errExcluded)
}

var errPanic = errors.New("the call panicked")

// run makes the attempt, and ends it also if it panics.
func (a *Attempt) run(ctx context.Context, call func() Outcome) (o Outcome) {
	o.Failure = errPanic
	defer func() { a.End(ctx, o) }()
	o = call()
	return o
}

// textOf returns the beginning of an error's text, without the address that was called, which may be a secret.
func textOf(err error) string {
	var called *url.Error
	if errors.As(err, &called) {
		err = called.Err
	}
	return excerpt.Bytes(err.Error(), maxText)
}

// hostOf returns the host of a key: an address, or a host.
func hostOf(key string) string {
	if u, err := url.Parse(key); err == nil && u.Host != "" {
		return u.Host
	}
	return key
}
