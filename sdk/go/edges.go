package rialto

import (
	"context"
	"errors"
	"io"
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
	// edgeSilence is how long an edge may send nothing.
	edgeSilence = 10 * time.Second
)

var errSilentEdge = errors.New("rialto: the edge sends nothing")

// edges is where files are read: from the best edge that works, and without one from where the server said. The list of the last discovery outlives discoveries that
// fail. Its methods may be called by several goroutines at once.
type edges struct {
	config  *Config
	service gatewayv1connect.GatewayServiceClient

	discovering sync.Mutex // one discovery at a time

	mu     sync.Mutex // guards all below
	list   []string   // addresses before a path, best first
	askAt  time.Time  // when the list is too old
	failed map[string]time.Time
}

func newEdges(config *Config) *edges {
	return &edges{config: config, service: gatewayv1connect.NewGatewayServiceClient(config.HTTP, config.URL), failed: map[string]time.Time{}}
}

// get reads a file at an address that the server gave. It asks each edge once, and the address itself in the end. The caller must close the body.
func (e *edges) get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	for _, edge := range e.forFile(ctx, u) {
		res, err := e.getFrom(ctx, client, edge, u.RequestURI())
		if err == nil && res.StatusCode < http.StatusInternalServerError {
			return res, nil
		}
		if err == nil {
			_ = res.Body.Close() // nothing of it is wanted
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.fail(edge)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(r)
}

// forFile returns the edges that have a file and have not failed, best first.
func (e *edges) forFile(ctx context.Context, file *url.URL) (list []string) {
	if !strings.HasPrefix(file.Path, "/v1/media/") && !strings.HasPrefix(file.Path, "/v1/video/") {
		return nil
	}
	e.refresh(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, edge := range e.list {
		if time.Since(e.failed[edge]) >= reconnect.FailureTime && edge != file.Scheme+"://"+file.Host {
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
	for address, at := range e.failed {
		if now.Sub(at) >= reconnect.FailureTime {
			delete(e.failed, address)
		}
	}
}

// accepts reports whether files may come from an address. Where Config.URL has TLS, they do not come from elsewhere without.
func (e *edges) accepts(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") && strings.HasPrefix(e.config.URL, "http://")
}

// fail leaves an edge for reconnect.FailureTime.
func (e *edges) fail(edge string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed[edge] = time.Now()
}

// getFrom reads a file from an edge. It fails, and so does reading the body, once the edge has sent nothing for edgeSilence.
func (e *edges) getFrom(ctx context.Context, client *http.Client, edge, path string) (*http.Response, error) {
	within, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(within, http.MethodGet, edge+path, nil)
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
			e.fail(edge)
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
