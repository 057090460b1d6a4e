package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// Upload is a request whose body is read once, as it comes, so it is sent once.
type Upload struct {
	Method string
	// Target is the path and the query; it begins with a slash.
	Target string
	Header http.Header
	// Host that the server is told; empty: its own.
	Host string
	Body io.Reader
	// Length of the body; -1: it is unknown.
	Length int64
	// Timeout of the request, including its answer.
	Timeout time.Duration
}

// Stream sends an upload to the servers one after the other, beginning with that of an index, until one is reached. An answer with any status is no error. Once ctx
// has ended, the error is its cause.
func (s *Servers) Stream(ctx context.Context, first uint32, u Upload) (*Answer, error) {
	count := uint32(len(s.clients))
	var last error
	for n := range count {
		at := (first%count + n) % count
		a, err := s.clients[at].stream(ctx, s.urls[at]+u.Target, u)
		switch {
		case err == nil:
			return a, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !isUnreached(err):
			return nil, err
		}
		last = err
	}
	return nil, last
}

// stream sends an upload. Whoever sends the body may be slow or break off, so an error tells of the server only if that was not reached, or had all of the body.
func (c *Client) stream(ctx context.Context, target string, u Upload) (*Answer, error) {
	body := &onceBody{from: u.Body, left: u.Length}
	body.ended.Store(u.Length == 0) // nobody reads it
	within, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(within, u.Method, target, body)
	if err != nil {
		return nil, err
	}
	r.Host, r.Header, r.ContentLength = u.Host, u.Header, u.Length
	if u.Length == 0 {
		r.Body = http.NoBody
	}
	attempt, err := c.config.Calls.Begin(c.config.Kind, c.config.URL)
	if err != nil {
		return nil, err
	}
	answer, err := send(c.http, r, c.config.MaxAnswer)
	if err != nil && !isUnreached(err) && !body.ended.Load() {
		attempt.Abandon()
		return nil, err
	}
	attempt.End(ctx, outgoing.Outcome{Failure: err})
	return answer, err
}

// isUnreached reports whether nothing of a request was sent.
func isUnreached(err error) bool {
	var refused *outgoing.Refused
	var network *net.OpError
	return errors.As(err, &refused) || errors.As(err, &network) && network.Op == "dial"
}

// onceBody notes when all of a body was read.
type onceBody struct {
	from  io.Reader
	left  int64 // until then; negative: it ends by io.EOF
	ended atomic.Bool
}

func (b *onceBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if b.left == 0 || errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}
