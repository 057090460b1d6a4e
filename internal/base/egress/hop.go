package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// hopTransport makes each hop of a fetch an attempt of a call to the hop's host, so that a host to which others redirect has a circuit breaker of its own. The
// attempt ends with the body of the answer.
type hopTransport struct {
	calls   *outgoing.Calls
	base    http.RoundTripper
	timeout time.Duration // of the fetch
}

// callerKey is the key of the caller's context in that of a request, which ends at the timeout as well.
type callerKey struct{}

// RoundTrip implements http.RoundTripper.
func (t *hopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	caller, ok := r.Context().Value(callerKey{}).(context.Context)
	if !ok {
		return nil, errors.New("egress: a hop of no fetch")
	}
	attempt, err := t.calls.Begin(outgoing.LinkPreview, portedHost(r.URL))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	end := func(status int, asked time.Duration, err error) {
		if errors.Is(err, context.DeadlineExceeded) && time.Since(began) < t.timeout/2 { // the hops before it took the time
			attempt.Abandon()
			return
		}
		attempt.End(caller, outgoing.OutcomeOf(status, asked, err))
	}
	res, err := t.base.RoundTrip(r)
	if err != nil {
		end(0, 0, err)
		return nil, err
	}
	asked := (&Answer{Header: res.Header}).RetryAfter(began)
	res.Body = &hopBody{ReadCloser: res.Body, end: func(err error) { end(res.StatusCode, asked, err) }}
	return res, nil
}

// hopBody is a body that notes how reading it ended.
type hopBody struct {
	io.ReadCloser
	once sync.Once
	end  func(err error)
}

func (b *hopBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.once.Do(func() { b.end(err) })
	}
	return n, err
}

// Close implements io.Closer. What is not read by then is not wanted.
func (b *hopBody) Close() error {
	b.once.Do(func() { b.end(nil) })
	return b.ReadCloser.Close()
}
