package rialto

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// SendError is a refusal by the server.
type SendError struct {
	// Code as in Connect; Reason is a stable word for programs.
	Code, Reason, Message string
}

func (e *SendError) Error() string { return fmt.Sprintf("rialto: %s: %s", e.Reason, e.Message) }

// SendText sends a text and waits until it is stored.
func (c *Client) SendText(ctx context.Context, conversation uint64, text string) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

// Send keeps a message and sends it until the server says that it is stored, over any number of connections; Run must be
// running. When ctx ends first, the message is still sent later. A refusal is a *SendError.
func (c *Client) Send(ctx context.Context, conversation uint64, content *chatv1.Content) (*gatewayv1.Receipt, error) {
	return c.Queue(conversation, content)(ctx)
}

// Queue keeps a message to be sent, after those that were queued before it, and gives a function that waits for its receipt as
// Send does.
func (c *Client) Queue(conversation uint64, content *chatv1.Content) (wait func(context.Context) (*gatewayv1.Receipt, error)) {
	done, err := c.enqueue(conversation, content)
	return func(ctx context.Context) (*gatewayv1.Receipt, error) {
		if err != nil {
			return nil, err
		}
		select {
		case o := <-done:
			return o.receipt, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) enqueue(conversation uint64, content *chatv1.Content) (<-chan outcome, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	if err != nil {
		return nil, err
	}
	done := make(chan outcome, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Access == "" {
		return nil, ErrSignedOut
	}
	c.state.ClientSeq++
	u := Unsent{ClientSeq: c.state.ClientSeq, Conversation: conversation, Content: b}
	c.state.Outbox = append(c.state.Outbox, u)
	if err := c.save(); err != nil { // nothing that is not kept is sent
		c.state.ClientSeq--
		c.state.Outbox = c.state.Outbox[:len(c.state.Outbox)-1]
		return nil, err
	}
	c.waiters[u.ClientSeq] = done
	close(c.wake)
	c.wake = make(chan struct{})
	return done, nil
}

// Flush waits until nothing waits to be sent.
func (c *Client) Flush(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		c.mu.Lock()
		n := len(c.state.Outbox)
		c.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("rialto: %d messages are not sent yet; they are kept: %w", n, ctx.Err())
		}
	}
}

// receipt settles a message. A refusal that may pass leaves it in the outbox, to go out with the next connection.
func (c *Client) receipt(r *gatewayv1.Receipt) error {
	if e := r.Error; e != nil && e.RetryMs > 0 {
		return errAgain
	}
	refused, err := c.answered(r)
	if refused {
		c.config.Handler(Event{Refused: r})
	}
	return err
}

// answered takes a message from the outbox. refused tells that it was refused and nobody waits for it.
func (c *Client) answered(r *gatewayv1.Receipt) (refused bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, u := range c.state.Outbox {
		if u.ClientSeq != r.ClientSeq {
			continue
		}
		c.state.Outbox = append(c.state.Outbox[:i:i], c.state.Outbox[i+1:]...)
		if w := c.waiters[r.ClientSeq]; w != nil {
			delete(c.waiters, r.ClientSeq)
			o := outcome{receipt: r}
			if r.Error != nil {
				o = outcome{err: &SendError{r.Error.Code, r.Error.Reason, r.Error.Message}}
			}
			w <- o
		} else {
			refused = r.Error != nil
		}
		return refused, c.save()
	}
	return false, nil
}

// Mark moves this user's cursors in a conversation forward: now, or with the next connection.
func (c *Client) Mark(conversation, delivered, read uint64) {
	c.mu.Lock()
	m := &gatewayv1.Mark{Conversation: conversation, DeliveredSeq: delivered, ReadSeq: read}
	if was := c.marks[conversation]; was != nil {
		m.DeliveredSeq, m.ReadSeq = max(was.DeliveredSeq, delivered), max(was.ReadSeq, read)
	}
	c.marks[conversation] = m
	c.mu.Unlock()
	c.write(&gatewayv1.ClientFrame{Marks: []*gatewayv1.Mark{m}})
}

// Typing tells the others of a conversation that the user types. It may be lost.
func (c *Client) Typing(conversation uint64) {
	c.write(&gatewayv1.ClientFrame{Typing: conversation})
}

// Watch replaces the set of users whose presence is pushed: friends, at most 500. It holds for later connections too.
func (c *Client) Watch(users ...uint64) {
	c.mu.Lock()
	c.watch = append([]uint64{}, users...)
	c.mu.Unlock()
	c.write(&gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: users}})
}

// write puts a frame on the open connection; without one it is dropped.
func (c *Client) write(f *gatewayv1.ClientFrame) {
	c.mu.Lock()
	s := c.socket
	c.mu.Unlock()
	if s != nil {
		s.put(f)
	}
}

// sendByCall sends the outbox without a socket.
func (c *Client) sendByCall(ctx context.Context) error {
	c.mu.Lock()
	box := append([]Unsent(nil), c.state.Outbox...)
	c.mu.Unlock()
	for _, u := range box {
		var content chatv1.Content
		if err := proto.Unmarshal(u.Content, &content); err != nil {
			return err
		}
		r := &gatewayv1.Receipt{Conversation: u.Conversation, ClientSeq: u.ClientSeq}
		res, err := c.chat.Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: u.Conversation, ClientSeq: u.ClientSeq, Content: &content}))
		switch code := connect.CodeOf(err); {
		case err == nil:
			r.Id, r.Seq, r.TimeMs, r.Counted, r.Duplicate = res.Msg.Id, res.Msg.Seq, res.Msg.TimeMs, res.Msg.Counted, res.Msg.Duplicate
		case !connect.IsWireError(err), code == connect.CodeUnavailable, code == connect.CodeUnauthenticated, code == connect.CodeInternal, code == connect.CodeUnknown:
			return err // not the server's word on this message
		default:
			r.Error = &gatewayv1.Error{Code: code.String(), Reason: code.String(), Message: err.Error()}
		}
		if err := c.receipt(r); err != nil {
			return err
		}
	}
	return nil
}
