package rialto

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	"github.com/rialto-im/rialto/gen/rialto/id/v1/idv1connect"
)

// IDsConfig says where ids come from.
type IDsConfig struct {
	// URL of the deployment, as https://chat.example.com.
	URL string
	// Key is an API key; rialto admin key create makes one. It belongs on servers.
	Key string
	// Buffer is how many numbers Next asks for at once, 1 to 10,000. What is in the buffer when the process ends is never given.
	// Default 1: each Next is a call.
	Buffer int
	// HTTP makes the calls; by default with a timeout of 30 s.
	HTTP *http.Client
}

// IDs gives ids of a deployment's id service. It needs no Run, and its methods may be called from many goroutines.
type IDs struct {
	buffer  int
	service idv1connect.IDServiceClient

	mu   sync.Mutex // guards tags
	tags map[string]*buffered
}

// buffered are the numbers of a tag that were asked for and not given yet.
type buffered struct {
	turn chan struct{} // holds a token while nobody is at numbers
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

// Next gives the next number of a tag: a scheme's name, as snowflake or segment, or the name of a tag that was put. Numbers of one
// IDs rise; those of others come in between.
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

// Numbers gives n numbers of a tag, 1 to 10,000, rising, in one call.
func (i *IDs) Numbers(ctx context.Context, tag string, n int) ([]uint64, error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n)})
	if err == nil && len(r.Numbers) != n {
		err = errors.New("rialto: the ids of " + tag + " are texts; ask for Texts")
	}
	if err != nil {
		return nil, err
	}
	return r.Numbers, nil
}

// Texts gives n ids, 1 to 10,000, of a tag whose ids are texts, as uuidv7 or one with a rule.
func (i *IDs) Texts(ctx context.Context, tag string, n int) ([]string, error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n)})
	if err == nil && len(r.Texts) != n {
		err = errors.New("rialto: the ids of " + tag + " are numbers; ask for Numbers")
	}
	if err != nil {
		return nil, err
	}
	return r.Texts, nil
}

// Sequence gives the next n numbers, 1 to 10,000, of a key's own counter, and of them the first: the others follow it without a
// hole. Tag is sequence, or a tag of that scheme.
func (i *IDs) Sequence(ctx context.Context, tag string, key uint64, n int) (first uint64, err error) {
	r, err := i.ask(ctx, &idv1.NextRequest{Tag: tag, Count: int64(n), Key: key})
	if err == nil && len(r.Numbers) != n {
		err = errors.New("rialto: the ids of " + tag + " are texts; ask for Texts")
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

// Explain gives an id's parts, in each way in which it can be read, the likeliest first. Scheme is empty where it is not known.
func (i *IDs) Explain(ctx context.Context, text, scheme string) ([]*idv1.Reading, error) {
	out, err := i.service.Explain(ctx, connect.NewRequest(&idv1.ExplainRequest{Id: text, Scheme: scheme}))
	if err != nil {
		return nil, err
	}
	return out.Msg.Readings, nil
}
