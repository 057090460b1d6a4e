package edge

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// origins are the nodes that have the files.
type origins struct {
	addresses []string
	clients   []*egress.Client
	secret    string
}

func newOrigins(calls *outgoing.Calls, config Config) (*origins, error) {
	o := &origins{secret: config.Secret}
	for _, address := range config.Origins {
		address = strings.TrimSuffix(address, "/")
		c, err := egress.New(egress.Config{URL: address, AllowPrivate: true, Kind: outgoing.EdgeOrigin, Calls: calls, Timeout: askTimeout, MaxAnswer: blockcache.BlockSize + 64<<10})
		if err != nil {
			return nil, fmt.Errorf("edge.origins: %w", err)
		}
		o.addresses, o.clients = append(o.addresses, address), append(o.clients, c)
	}
	return o, nil
}

func (o *origins) close() {
	for _, c := range o.clients {
		c.Close()
	}
}

// ask sends a request to one origin.
func (o *origins) ask(ctx context.Context, n int, method, target string, header http.Header, check func(*egress.Answer) error) (*egress.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, o.addresses[n]+target, http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer "+o.secret)
	return o.clients[n].Do(r, check)
}

// errOrigin is the error of those for whom no origin has an answer.
func errOrigin(cause error) error {
	return errs.Wrap(errs.Unavailable, "storage", "the file cannot be reached at the moment; try again", cause)
}

// fetch asks the origins for a target, one after the other until one answers. All ask the same one first about the files of a group, which may have copies of them too.
func (o *origins) fetch(ctx context.Context, group, method, target string, header http.Header) (*egress.Answer, error) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, group) // it cannot fail
	first := int(h.Sum32() % uint32(len(o.clients)))
	var last error
	for i := range o.clients {
		a, err := o.ask(ctx, (first+i)%len(o.clients), method, target, header, nil)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			last = err
		case a.Status >= http.StatusInternalServerError || a.Status == http.StatusTooManyRequests:
			last = fmt.Errorf("status %d: %.200s", a.Status, a.Body)
		default:
			return a, nil
		}
	}
	return nil, errOrigin(last)
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
	return http.Header{"Range": {"bytes=" + strconv.FormatInt(offset, 10) + "-" + strconv.FormatInt(offset+length-1, 10)}}
}

// contentRange returns where the bytes of an answer begin in its file, and the size of the file.
func contentRange(a *egress.Answer) (from, size int64, err error) {
	if a.Status == http.StatusOK {
		return 0, int64(len(a.Body)), nil
	}
	var to int64
	text := a.Header.Get("Content-Range")
	if n, err := fmt.Sscanf(text, "bytes %d-%d/%d", &from, &to, &size); err != nil || n != 3 || a.Status != http.StatusPartialContent || from < 0 || to < from || size <= to || to-from+1 != int64(len(a.Body)) {
		return 0, 0, fmt.Errorf("the origin answered a request for a range with status %d, %q and %d bytes", a.Status, text, len(a.Body))
	}
	return from, size, nil
}
