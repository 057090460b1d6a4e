package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Servers are the servers of one service, each of which can answer any request. Each has a circuit breaker of its own.
type Servers struct {
	urls    []string
	clients []*Client
}

// Call is a request to one of several servers. It may be sent more than once.
type Call struct {
	Method string
	// Target is the path and the query; it begins with a slash.
	Target string
	Header http.Header
	Body   []byte
}

// StatusError is the error of a server that answers with a status for which another one is asked: 5xx, or 429.
type StatusError struct{ Answer *Answer }

// Error has up to 200 bytes of the answer's body, so a caller whose servers quote secrets makes an error of its own.
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d: %.200s", e.Answer.Status, e.Answer.Body)
}

// NewServers makes a client of each URL, with a configuration of which only the URL differs. No URL is an error.
func NewServers(urls []string, config Config) (*Servers, error) {
	if len(urls) == 0 {
		return nil, errors.New("name a server")
	}
	s := &Servers{}
	for _, url := range urls {
		config.URL = strings.TrimRight(url, "/")
		c, err := New(config)
		if err != nil {
			return nil, err
		}
		s.urls, s.clients = append(s.urls, config.URL), append(s.clients, c)
	}
	return s, nil
}

// Close closes idle connections.
func (s *Servers) Close() {
	for _, c := range s.clients {
		c.Close()
	}
}

// DoAt sends a request to the server with an index, modulo their number. Its answers and errors are those of Client.Do.
func (s *Servers) DoAt(ctx context.Context, index uint32, q Call, check func(*Answer) error) (*Answer, error) {
	at := index % uint32(len(s.clients))
	r, err := http.NewRequestWithContext(ctx, q.Method, s.urls[at]+q.Target, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range q.Header {
		r.Header[name] = values
	}
	return s.clients[at].Do(r, check)
}

// Do sends a request to the servers one after the other, beginning with that of an index, until one answers. A status of 5xx or 429 is no answer. If none answers,
// the error is that of the last one, a *StatusError if it was a status. Once ctx has ended, the error is its cause.
func (s *Servers) Do(ctx context.Context, first uint32, q Call, check func(*Answer) error) (*Answer, error) {
	var last error
	for n := range uint32(len(s.clients)) {
		a, err := s.DoAt(ctx, first%uint32(len(s.clients))+n, q, check)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			last = err
		case a.Status >= http.StatusInternalServerError || a.Status == http.StatusTooManyRequests:
			last = &StatusError{a}
		default:
			return a, nil
		}
	}
	return nil, last
}
