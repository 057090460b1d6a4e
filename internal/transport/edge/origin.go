package edge

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// origins are the nodes that have the files.
type origins struct {
	servers *egress.Servers
	secret  string
}

func newOrigins(calls *outgoing.Calls, config Config) (*origins, error) {
	servers, err := egress.NewServers(config.Origins, egress.Config{AllowPrivate: true, Kind: outgoing.EdgeOrigin, Calls: calls, Timeout: askTimeout, MaxAnswer: blockcache.BlockSize + 64<<10})
	if err != nil {
		return nil, fmt.Errorf("edge.origins: %w", err)
	}
	return &origins{servers: servers, secret: config.Secret}, nil
}

// request of an edge.
func (o *origins) request(method, target string, header http.Header) egress.Call {
	h := http.Header{"Authorization": {"Bearer " + o.secret}}
	for name, values := range header {
		h[name] = values
	}
	return egress.Call{Method: method, Target: target, Header: h}
}

// errOrigin is the error of those for whom no origin has an answer.
func errOrigin(cause error) error {
	return errs.Wrap(errs.Unavailable, "storage", "the file cannot be reached at the moment; try again", cause)
}

// fetch asks the origins for a target, one after the other until one answers. All ask the same one first about the files of a group, which may have copies of them too.
func (o *origins) fetch(ctx context.Context, group, method, target string, header http.Header) (*egress.Answer, error) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, group) // it cannot fail
	a, err := o.servers.Do(ctx, h.Sum32(), o.request(method, target, header), nil)
	if err != nil && ctx.Err() == nil {
		err = errOrigin(err)
	}
	return a, err
}

// source of the blocks of a file, by a URL that may read it.
func (s *Server) source(a *address, f *resource) blockcache.Source {
	return func(ctx context.Context, offset, length int64) (io.ReadCloser, int64, error) {
		answer, err := s.origins.fetch(ctx, a.group, http.MethodGet, a.target, rangeHeader(offset, length))
		if err != nil {
			return nil, 0, err
		}
		from, size, err := contentRange(answer)
		switch {
		case answer.Status >= http.StatusBadRequest:
			return nil, 0, refusalOf(answer)
		case err != nil:
			return nil, 0, errOrigin(err)
		case from != offset || answer.Header.Get("ETag") != f.header.Get("ETag"):
			return nil, 0, errOrigin(fmt.Errorf("the origin sent bytes from %d on of %s, and not from %d on of %s", from, answer.Header.Get("ETag"), offset, f.header.Get("ETag")))
		}
		return io.NopCloser(bytes.NewReader(answer.Body)), size, nil
	}
}

func rangeHeader(offset, length int64) http.Header {
	return http.Header{"Range": {byterange.Header(offset, length)}}
}

// contentRange returns where the bytes of an answer begin in its file, and the size of the file.
func contentRange(a *egress.Answer) (from, size int64, err error) {
	if a.Status == http.StatusOK {
		return 0, int64(len(a.Body)), nil
	}
	c, err := byterange.ParseContent(a.Header.Get("Content-Range"))
	if err != nil || a.Status != http.StatusPartialContent || c.Length != int64(len(a.Body)) {
		return 0, 0, fmt.Errorf("the origin answered a request for a range with status %d, %q and %d bytes", a.Status, a.Header.Get("Content-Range"), len(a.Body))
	}
	return c.From, c.Size, nil
}
