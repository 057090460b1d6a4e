package rialto

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

const (
	maxEdges = 16
	// edgeSilence is how long an edge may send nothing, and how long connecting to it may take.
	edgeSilence = 10 * time.Second
	// putSilence is how long an edge may take no more bytes: what it takes waits behind what the system has of them.
	putSilence = 30 * time.Second
	// putAnswer is how long the answer to an upload may take after the last byte: an edge gives the server two minutes, and bytes may still be on their way.
	putAnswer   = 2*time.Minute + putSilence
	maxPutError = 4 << 10 // bytes
)

// fileUse is what an edge is used for. An edge that fails at one may be good at the other.
type fileUse int

const (
	reading fileUse = iota
	sending
	fileUses
)

var errSilentEdge = errors.New("rialto: the edge sends nothing")

// edges is where files are read, and where parts of files are sent: the best edge that works, and without one where the server said. The list of the last discovery outlives discoveries that
// fail. Its methods may be called by several goroutines at once.
type edges struct {
	config  *Config
	service gatewayv1connect.GatewayServiceClient

	discovering sync.Mutex // one discovery at a time

	mu     sync.Mutex // guards all below
	list   []string   // addresses before a path, best first
	askAt  time.Time  // when the list is too old
	failed [fileUses]map[string]time.Time
}

func newEdges(config *Config) *edges {
	return &edges{config: config, service: gatewayv1connect.NewGatewayServiceClient(config.HTTP, config.URL), failed: [fileUses]map[string]time.Time{{}, {}}}
}

// get reads a file at an address that the server gave. It asks each edge once, and the address itself in the end. The caller must close the body.
func (e *edges) get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	return e.each(ctx, address, reading, func(at string, isEdge bool) (*http.Response, error) {
		if isEdge {
			return e.getFrom(ctx, client, at)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		return client.Do(r)
	})
}

// put sends bytes to an address that the server gave for them, as get reads. The caller must close the body of the answer.
func (e *edges) put(ctx context.Context, client *http.Client, address string, b []byte, header http.Header) (*http.Response, error) {
	return e.each(ctx, address, sending, func(at string, isEdge bool) (*http.Response, error) {
		within, cancel := context.WithCancelCause(ctx)
		body := &sentBody{from: bytes.NewReader(b)}
		if isEdge {
			body.silence = time.AfterFunc(edgeSilence, func() { cancel(errSilentEdge) })
			defer body.stop()
		}
		r, err := http.NewRequestWithContext(within, http.MethodPut, at, body)
		if err != nil {
			cancel(nil)
			return nil, err
		}
		r.Header, r.ContentLength = header.Clone(), int64(len(b))
		res, err := client.Do(r)
		if err != nil {
			cancel(nil)
			return nil, err
		}
		res.Body = &edgeBody{body: res.Body, cancel: cancel, failed: func() {}} // the answer is short, and comes at once
		return res, nil
	})
}

// sentBody gives an edge time for the bytes that are sent to it.
type sentBody struct {
	mu      sync.Mutex // guards all below
	from    *bytes.Reader
	silence *time.Timer // nil: the server itself has all the time, or the answer has come
}

// Read may be called after the answer.
func (s *sentBody) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.from.Read(p)
	switch {
	case s.silence == nil:
	case s.from.Len() > 0:
		s.silence.Reset(putSilence)
	case n > 0: // the last bytes
		s.silence.Reset(putAnswer)
	}
	return n, err
}

func (s *sentBody) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silence.Stop()
	s.silence = nil
}

// each asks by turns the edges for an address that the server gave, and the address itself in the end, until one answers.
func (e *edges) each(ctx context.Context, address string, use fileUse, ask func(at string, isEdge bool) (*http.Response, error)) (*http.Response, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	for _, edge := range e.forFile(ctx, u, use) {
		res, err := ask(edge+u.RequestURI(), true)
		if err == nil && res.StatusCode < http.StatusInternalServerError {
			return res, nil
		}
		busy := err == nil && use == sending && isBusy(res)
		if err == nil {
			_ = res.Body.Close() // nothing more of it is wanted
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !busy {
			e.fail(edge, use)
		}
	}
	return ask(address, false)
}

// isBusy reports whether an edge answers that it has too many uploads at the moment.
func isBusy(res *http.Response) bool {
	var refusal struct{ Reason string }
	err := json.NewDecoder(io.LimitReader(res.Body, maxPutError)).Decode(&refusal)
	return err == nil && res.StatusCode == http.StatusServiceUnavailable && refusal.Reason == "busy"
}

// forFile returns the edges that have a file, or take it, and have not failed at that, best first.
func (e *edges) forFile(ctx context.Context, file *url.URL, use fileUse) (list []string) {
	if !strings.HasPrefix(file.Path, "/v1/media/") && !strings.HasPrefix(file.Path, "/v1/video/") {
		return nil
	}
	e.refresh(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, edge := range e.list {
		if time.Since(e.failed[use][edge]) >= reconnect.FailureTime && edge != file.Scheme+"://"+file.Host {
			list = append(list, edge)
		}
	}
	return list
}

// refresh asks for the edges if the list is too old. If that fails, the last list stays.
func (e *edges) refresh(ctx context.Context) {
	e.discovering.Lock()
	defer e.discovering.Unlock()
	e.mu.Lock()
	isFresh := time.Now().Before(e.askAt)
	e.mu.Unlock()
	if isFresh {
		return
	}
	within, cancel := context.WithTimeout(ctx, reconnect.DiscoverWithin)
	defer cancel()
	r, err := e.service.FindGateways(within, connect.NewRequest(&gatewayv1.FindGatewaysRequest{Region: e.config.Region}))
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if err != nil {
		if ctx.Err() == nil {
			e.config.Logger.Info("the edges could not be asked for; the last ones are used", "error", err)
			e.askAt = now.Add(reconnect.DiscoverAgain)
		}
		return
	}
	e.list = nil
	for _, address := range r.Msg.Edges {
		if len(e.list) < maxEdges && e.accepts(address) && !slices.Contains(e.list, address) {
			e.list = append(e.list, address)
		}
	}
	e.askAt = now.Add(min(time.Duration(r.Msg.TtlMs)*time.Millisecond, reconnect.LongestLifetime))
	for _, failed := range e.failed {
		maps.DeleteFunc(failed, func(_ string, at time.Time) bool { return now.Sub(at) >= reconnect.FailureTime })
	}
}

// accepts reports whether files may come from an address. Where Config.URL has TLS, they do not come from elsewhere without.
func (e *edges) accepts(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") && strings.HasPrefix(e.config.URL, "http://")
}

// fail leaves an edge for reconnect.FailureTime, for one use.
func (e *edges) fail(edge string, use fileUse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed[use][edge] = time.Now()
}

// getFrom reads a file from an edge. It fails, and so does reading the body, once the edge has sent nothing for edgeSilence.
func (e *edges) getFrom(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	within, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(within, http.MethodGet, address, nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	silence := time.AfterFunc(edgeSilence, func() { cancel(errSilentEdge) })
	res, err := client.Do(r)
	silence.Stop()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	res.Body = &edgeBody{body: res.Body, cancel: cancel, failed: func() {
		if ctx.Err() == nil {
			e.fail(r.URL.Scheme+"://"+r.URL.Host, reading)
		}
	}}
	return res, nil
}

// edgeBody is a file that an edge sends.
type edgeBody struct {
	body   io.ReadCloser
	cancel context.CancelCauseFunc // ends the request
	failed func()                  // the edge did not send all
}

func (b *edgeBody) Read(p []byte) (int, error) {
	silence := time.AfterFunc(edgeSilence, func() { b.cancel(errSilentEdge) }) // only while somebody reads
	n, err := b.body.Read(p)
	silence.Stop()
	if err != nil && err != io.EOF {
		b.failed()
	}
	return n, err
}

func (b *edgeBody) Close() error {
	defer b.cancel(nil)
	return b.body.Close()
}
