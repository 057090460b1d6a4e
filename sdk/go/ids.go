package rialto

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

// IDsConfig says where ids come from.
type IDsConfig struct {
	// URL of the deployment, as https://chat.example.com.
	URL string
	// Key is an API key; rialto admin key create makes one. It belongs on servers.
	Key string
	// Buffer is how many numbers Next requests at once, 1 to 10,000. Numbers in the buffer when the process ends are never issued. Default
	// 1: each Next is a call.
	Buffer int
	// HTTP makes the calls; by default with a timeout of 30 s.
	HTTP *http.Client
}

// IDs returns ids of a deployment's id service. It needs no Run. All methods are safe for concurrent use.
type IDs struct {
	buffer  int
	service idv1connect.IDServiceClient

	mu   sync.Mutex // guards tags
	tags map[string]*buffered
}

// buffered has the numbers of a tag that were fetched and not returned yet.
type buffered struct {
	turn chan struct{} // holds a token while nobody uses numbers
	left []uint64
}

// NewIDs makes a client of the id service. It opens no connection.
func NewIDs(c IDsConfig) (*IDs, error) {
	c.URL = strings.TrimRight(c.URL, "/")
	switch {
	case !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return nil, errors.New("rialto: IDsConfig.URL must begin with http:// or https://")
	case c.Key == "":
		return nil, errors.New("rialto: IDsConfig.Key must be an API key")
	case c.Buffer < 0 || c.Buffer > 10_000:
		return nil, errors.New("rialto: IDsConfig.Buffer is 1 to 10,000")
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	with := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+c.Key)
			return next(ctx, r)
		}
	}))
	return &IDs{buffer: max(c.Buffer, 1), tags: map[string]*buffered{}, service: idv1connect.NewIDServiceClient(c.HTTP, c.URL, with)}, nil
}

// Service makes all calls of IDService.
func (i *IDs) Service() idv1connect.IDServiceClient { return i.service }

// Next returns the next number of a tag: a scheme's name, such as snowflake or segment, or the name of a created tag. Numbers of one IDs
// increase; other clients get numbers in between.
func (i *IDs) Next(ctx context.Context, tag string) (uint64, error) {
	i.mu.Lock()
	b := i.tags[tag]
	if b == nil {
		b = &buffered{turn: make(chan struct{}, 1)}
		b.turn <- struct{}{}
		i.tags[tag] = b
	}
	i.mu.Unlock()
	select {
	case <-b.turn:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { b.turn <- struct{}{} }()
	if len(b.left) == 0 {
		var err error
		if b.left, err = i.Numbers(ctx, tag, i.buffer); err != nil {
			return 0, err
		}
	}
	v := b.left[0]
	b.left = b.left[1:]
	return v, nil
}

// Numbers returns n increasing numbers of a tag, 1 to 10,000, in one call.
func (i *IDs) Numbers(ctx context.Context, tag string, n int) ([]uint64, error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n)})
	if err == nil && len(r.Numbers) != n {
		err = errors.New("rialto: the ids of " + tag + " are texts; use Texts")
	}
	if err != nil {
		return nil, err
	}
	return r.Numbers, nil
}

// Texts returns n ids, 1 to 10,000, of a tag whose ids are texts, such as uuidv7 or a tag with a rule.
func (i *IDs) Texts(ctx context.Context, tag string, n int) ([]string, error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n)})
	if err == nil && len(r.Texts) != n {
		err = errors.New("rialto: the ids of " + tag + " are numbers; use Numbers")
	}
	if err != nil {
		return nil, err
	}
	return r.Texts, nil
}

// Sequence reserves the next n numbers, 1 to 10,000, of a key's counter, and returns the first: the others follow it without a gap. Tag is
// sequence, or a tag of that scheme.
func (i *IDs) Sequence(ctx context.Context, tag string, key uint64, n int) (first uint64, err error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n), Key: key})
	if err == nil && len(r.Numbers) != n {
		err = errors.New("rialto: the ids of " + tag + " are texts; use Texts")
	}
	if err != nil {
		return 0, err
	}
	return r.Numbers[0], nil
}

func (i *IDs) ask(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error) {
	out, err := i.service.Next(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return out.Msg, nil
}

// Explain returns the parts of an id for each possible scheme, the likeliest first. Scheme may be empty if it is unknown.
func (i *IDs) Explain(ctx context.Context, text, scheme string) ([]*idv1.Reading, error) {
	out, err := i.service.Explain(ctx, connect.NewRequest(&idv1.ExplainRequest{Id: text, Scheme: scheme}))
	if err != nil {
		return nil, err
	}
	return out.Msg.Readings, nil
}
