package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// calls is the sending side of connections that only receive. Each frame is a call, and the next one waits for its answer, as in the SDKs: two calls at
// once might be stored in either order. So a sender has one message in flight, whatever its window.
type calls struct {
	ctx    context.Context
	end    context.CancelCauseFunc
	chat   chatv1connect.ChatServiceClient
	token  string
	frames chan []byte // for next
	queued chan struct{}

	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	queue    [][]byte   // frames to be sent: as many as the sender's window, and a ping each five seconds
	deadline *time.Timer
}

func newCalls(client *http.Client, to destination) *calls {
	c := &calls{chat: chatv1connect.NewChatServiceClient(client, to.endpoint.url), token: to.token, frames: make(chan []byte), queued: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.running.Go(func() { c.end(c.run()) })
	return c
}

func (c *calls) next() ([]byte, error) {
	select {
	case p := <-c.frames:
		return p, nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
}

func (c *calls) write(payload []byte) error {
	c.mu.Lock()
	c.queue = append(c.queue, slices.Clone(payload))
	c.mu.Unlock()
	select {
	case c.queued <- struct{}{}:
	default: // it is signalled already
	}
	return nil
}

func (c *calls) setDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadline != nil {
		c.deadline.Stop()
	}
	if !at.IsZero() {
		c.deadline = time.AfterFunc(time.Until(at), func() { c.end(&lostError{cause: errors.New("the server is silent")}) })
	}
	return nil
}

func (c *calls) close() error {
	c.end(&lostError{cause: errClosed})
	err := c.setDeadline(time.Time{})
	c.running.Wait()
	return err
}

// deliver hands a frame to next.
func (c *calls) deliver(f *gatewayv1.ServerFrame) error {
	b, err := proto.Marshal(f)
	if err != nil {
		return err
	}
	return c.hand(b)
}

func (c *calls) hand(p []byte) error {
	select {
	case c.frames <- p:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// run makes the calls until the connection ends.
func (c *calls) run() error {
	for {
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, p := range queue {
			var f gatewayv1.ClientFrame
			if err := proto.Unmarshal(p, &f); err != nil {
				return err
			}
			if err := c.execute(&f); err != nil {
				return err
			}
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-c.queued:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
}

// execute makes the calls of a frame, and delivers their answers.
func (c *calls) execute(f *gatewayv1.ClientFrame) error {
	for _, s := range f.Sends {
		r, err := c.send(s)
		if err != nil {
			return err
		}
		if err := c.deliver(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{r}}); err != nil {
			return err
		}
	}
	switch {
	case f.Ack != nil: // a sync acknowledges what is before it
		if _, err := c.chat.Sync(c.ctx, as(c.token, &chatv1.SyncRequest{After: f.Ack, Limit: 1})); err != nil {
			return lostCall(err)
		}
	case f.Sync != nil:
		page, err := c.chat.Sync(c.ctx, as(c.token, f.Sync))
		if err != nil {
			return lostCall(err)
		}
		return c.deliver(&gatewayv1.ServerFrame{Request: f.Request, Sync: page.Msg})
	case f.Call != nil:
		return c.history(f)
	case f.Ping != nil && f.Request != 0:
		return c.deliver(&gatewayv1.ServerFrame{Request: f.Request, Pong: &gatewayv1.Pong{}})
	}
	return nil
}

// send sends a message. If it is refused for a time, it waits that long, and those behind it with it.
func (c *calls) send(s *gatewayv1.Send) (*gatewayv1.Receipt, error) {
	for {
		r := &gatewayv1.Receipt{Conversation: s.Conversation, ClientSeq: s.ClientSeq}
		stored, err := c.chat.Send(c.ctx, as(c.token, &chatv1.SendRequest{Conversation: s.Conversation, ClientSeq: s.ClientSeq, Content: s.Content}))
		if err == nil {
			r.Id, r.Seq, r.TimeMs, r.Duplicate = stored.Msg.Id, stored.Msg.Seq, stored.Msg.TimeMs, stored.Msg.Duplicate
			return r, nil
		}
		r.Error = detailOf(err)
		switch code := connect.CodeOf(err); {
		case r.Error == nil || code == connect.CodeUnavailable || code == connect.CodeUnauthenticated:
			return nil, lostCall(err)
		case r.Error.RetryMs == 0:
			return r, nil
		}
		if backoff.Sleep(c.ctx, time.Duration(r.Error.RetryMs)*time.Millisecond) != nil {
			return nil, context.Cause(c.ctx)
		}
	}
}

// history makes the only call that clients make on a socket.
func (c *calls) history(f *gatewayv1.ClientFrame) error {
	if f.Call.Method != historyMethod {
		return fmt.Errorf("the call %s is not made without a socket", f.Call.Method)
	}
	var r chatv1.HistoryRequest
	if err := proto.Unmarshal(f.Call.Payload, &r); err != nil {
		return err
	}
	page, err := c.chat.History(c.ctx, as(c.token, &r))
	if err != nil {
		return lostCall(err)
	}
	b, err := proto.Marshal(page.Msg)
	if err != nil {
		return err
	}
	return c.deliver(&gatewayv1.ServerFrame{Request: f.Request, Result: &gatewayv1.Result{Payload: b}})
}

// detailOf returns the server's error of a call, nil if there is none.
func detailOf(err error) *gatewayv1.Error {
	failed := (*connect.Error)(nil)
	if !errors.As(err, &failed) {
		return nil
	}
	for _, d := range failed.Details() {
		if v, err := d.Value(); err == nil {
			if e, ok := v.(*gatewayv1.Error); ok {
				return e
			}
		}
	}
	return nil
}

// lostCall returns the error of a call that ends the connection: the client connects again, with a new token if the old one has expired.
func lostCall(err error) error {
	switch code := connect.CodeOf(err); code {
	case connect.CodeUnauthenticated:
		return &lostError{cause: fmt.Errorf("%w: %w", errBadToken, err)}
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeUnknown, connect.CodeResourceExhausted:
		return &lostError{cause: err, retry: time.Duration(detailOf(err).GetRetryMs()) * time.Millisecond}
	}
	return err
}
