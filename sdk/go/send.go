package rialto

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of the outbox.
const (
	// MostQueued is how many messages may wait to be sent at once.
	MostQueued = 10_000
	// MostContent is the maximum size of a message's content as protobuf, in bytes; the server accepts frames of up to 1 MiB.
	MostContent = 1<<20 - 1<<10
)

// ErrQueueFull: MostQueued messages wait already. Wait for some of them, as with Flush.
var ErrQueueFull = errors.New("rialto: too many messages wait to be sent")

// SendError is a refusal by the server: the message is not stored, will not be, and is not kept.
type SendError struct {
	// Code as in Connect, as permission_denied; Reason is a stable word for programs, as blocked (all are in docs/protocol.md);
	// Message is for people.
	Code, Reason, Message string
}

func (e *SendError) Error() string { return fmt.Sprintf("rialto: %s: %s", e.Reason, e.Message) }

// Reason returns the stable reason of an error of an API call or a send, such as not_found or blocked. It is empty for errors that are not
// the server's, such as network errors.
func Reason(err error) string {
	var refused *SendError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	if d := detail(err); d != nil {
		return d.Reason
	}
	return ""
}

// RetryAfter returns after how long the server wants a refused call to be repeated; 0 if it does not say so.
func RetryAfter(err error) time.Duration {
	return time.Duration(detail(err).GetRetryMs()) * time.Millisecond
}

// detail returns the detail of a call's error, nil if there is none.
func detail(err error) *gatewayv1.Error {
	var c *connect.Error
	if !errors.As(err, &c) {
		return nil
	}
	for _, d := range c.Details() {
		if v, err := d.Value(); err == nil {
			if e, ok := v.(*gatewayv1.Error); ok {
				return e
			}
		}
	}
	return nil
}

// SendText sends a text of 1 to 100,000 characters and waits until it is stored, as Send does.
func (c *Client) SendText(ctx context.Context, conversation uint64, text string) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

// Send stores a message in the client's store and sends it until the server confirms that it is stored, over any number of connections; Run
// must be running. The receipt has the message's id, its seq in the conversation and the server's time. The server stores it once, however
// often it was sent.
//
// If ctx ends first, the error is ctx's, and the message is still sent later. A refusal is a *SendError; after errors of the store,
// ErrSignedOut and ErrQueueFull nothing was kept. It must not be called from Config.Handler, which holds up the receipt.
func (c *Client) Send(ctx context.Context, conversation uint64, content *chatv1.Content) (*gatewayv1.Receipt, error) {
	return c.Queue(conversation, content)(ctx)
}

// Queue stores a message to be sent after those queued earlier, and returns a function that waits for its receipt as Send does; it may be
// called at most once. When Queue returns, the message is in the store. It may be called from Config.Handler, and before Run.
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
	if len(b) > MostContent {
		return nil, &SendError{connect.CodeInvalidArgument.String(), "content_too_large", fmt.Sprintf("a message has at most %d bytes", MostContent)}
	}
	done := make(chan outcome, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Access == "" {
		return nil, ErrSignedOut
	}
	if len(c.state.Outbox) >= MostQueued {
		return nil, ErrQueueFull
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
	c.signal()
	return done, nil
}

// LastQueued returns the client_seq of the newest message that is queued for a conversation and not confirmed yet; 0 if there is none. A
// message whose ReplyTo has it as ClientSeq answers that one, before anybody knows its seq. Updates, such as edits, are left out.
func (c *Client) LastQueued(conversation uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range slices.Backward(c.state.Outbox) {
		var content chatv1.Content
		if u.Conversation == conversation && proto.Unmarshal(u.Content, &content) == nil && Shown(&chatv1.Message{Content: &content}) {
			return u.ClientSeq
		}
	}
	return 0
}

// signal wakes up those who send. The caller holds mu.
func (c *Client) signal() {
	close(c.wake)
	c.wake = make(chan struct{})
}

// Flush waits until nothing waits to be sent, or until ctx ends; what waits then is still kept, and sent later.
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
	if c.answered(r) {
		c.config.Handler(Event{Refused: r})
	}
	return nil
}

// answered removes a message from the outbox. refused reports that it was refused and nobody waits for it. The caller saves the state once
// for many messages; those that a crash brings back are sent again, with the same answer.
func (c *Client) answered(r *gatewayv1.Receipt) (refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, u := range c.state.Outbox {
		if u.ClientSeq != r.ClientSeq {
			continue
		}
		if i == 0 {
			c.state.Outbox = c.state.Outbox[1:]
		} else {
			c.state.Outbox = slices.Delete(c.state.Outbox, i, i+1)
		}
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
		break
	}
	return refused
}

// Mark moves this user's cursors in a conversation forward, to the seqs of the last message that this device has and of the last
// that the user has read: now, or with the next connection of this process. Cursors never go back; 0 leaves one where it is. It
// may be called from Config.Handler.
func (c *Client) Mark(conversation, delivered, read uint64) {
	c.mu.Lock()
	m := &gatewayv1.Mark{Conversation: conversation, DeliveredSeq: delivered, ReadSeq: read}
	if was := c.marks[conversation]; was != nil {
		m.DeliveredSeq, m.ReadSeq = max(was.DeliveredSeq, delivered), max(was.ReadSeq, read)
	}
	c.marks[conversation] = m
	s := c.socket
	if s == nil {
		c.unsentMarks[conversation] = struct{}{}
		c.signal()
	} else if !s.sendsMarks {
		s = nil // sendMarks sends it
	}
	c.mu.Unlock()
	if s != nil {
		s.enqueue(&gatewayv1.ClientFrame{Marks: []*gatewayv1.Mark{m}})
	}
}

// Typing notifies the other members of a conversation that the user types. The notice may be lost, and is dropped without a connection.
// Call it every few seconds while the user types, not for each key.
func (c *Client) Typing(conversation uint64) {
	c.write(&gatewayv1.ClientFrame{Typing: conversation})
}

// Watch replaces the set of users whose presence is pushed, at once and at each change: at most 500. Those whom the user may not
// see are offline. It holds for later connections of this process too.
func (c *Client) Watch(users ...uint64) {
	c.mu.Lock()
	c.watch = append([]uint64{}, users...)
	c.mu.Unlock()
	c.write(&gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: users}})
}

// WatchReaders replaces the set of the user's own messages whose new readers are pushed, while their lists are shown: at most 8. It holds for
// later connections of this process too. After each Event with Readers that names nobody, read the list (ListReaders).
func (c *Client) WatchReaders(messages ...*gatewayv1.WatchedMessage) {
	w := &gatewayv1.WatchReaders{Messages: slices.Clone(messages)}
	c.mu.Lock()
	c.watchedReaders = w
	c.mu.Unlock()
	c.write(&gatewayv1.ClientFrame{WatchReaders: w})
}

// SetAway tells whether this device is idle or in the background. A user is shown as away while all devices are. It holds for later
// connections of this process too. A device is not away before the first call.
func (c *Client) SetAway(away bool) {
	activity := presencev1.Activity_ACTIVITY_ACTIVE
	if away {
		activity = presencev1.Activity_ACTIVITY_AWAY
	}
	c.mu.Lock()
	same := c.device == activity
	c.device = activity
	c.mu.Unlock()
	if !same {
		c.write(&gatewayv1.ClientFrame{Activity: activity})
	}
}

// write puts a frame on the open connection; without one it is dropped.
func (c *Client) write(f *gatewayv1.ClientFrame) {
	c.mu.Lock()
	s := c.socket
	c.mu.Unlock()
	if s != nil {
		s.enqueue(f)
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
		c.mu.Lock()
		c.storedClientSeq = max(c.storedClientSeq, u.ClientSeq)
		c.mu.Unlock()
		r := &gatewayv1.Receipt{Conversation: u.Conversation, ClientSeq: u.ClientSeq}
		res, err := c.chat.Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: u.Conversation, ClientSeq: u.ClientSeq, Content: &content}))
		switch {
		case err == nil:
			r.Id, r.Seq, r.TimeMs, r.Counted, r.Duplicate = res.Msg.Id, res.Msg.Seq, res.Msg.TimeMs, res.Msg.Counted, res.Msg.Duplicate
		case !isAnswer(err):
			return err
		default:
			if r.Error = detail(err); r.Error == nil {
				code := connect.CodeOf(err)
				r.Error = &gatewayv1.Error{Code: code.String(), Reason: code.String(), Message: err.Error()}
			}
		}
		if err := c.receipt(r); err != nil {
			return err
		}
		if err := c.saveState(); err != nil {
			return err
		}
	}
	return nil
}

// sendOutbox sends the outbox on a connection: first all of it, then new messages, and all again after a temporary refusal. Until then new
// messages name those before them, so that the server does not store them first.
func (c *Client) sendOutbox(s *socket) {
	sent := uint64(0)
	var late <-chan time.Time // when to resend refused messages
	for s.ctx.Err() == nil {
		size := 0
		c.mu.Lock()
		wake := c.wake
		f := &gatewayv1.ClientFrame{}
		var bad error
		previous := map[uint64]uint64{} // by conversation; filled while a refused message waits for its next try
		refused := time.Now().UnixNano() < s.retryAt.Load()
		for _, u := range c.state.Outbox {
			prev := previous[u.Conversation]
			if refused {
				previous[u.Conversation] = u.ClientSeq
			}
			if u.ClientSeq <= sent {
				continue
			}
			if size += len(u.Content); len(f.Sends) > 0 && size > maxSendBytesInFrame || len(f.Sends) >= maxSendsInFrame {
				break
			}
			var content chatv1.Content
			if bad = proto.Unmarshal(u.Content, &content); bad != nil {
				break
			}
			f.Sends = append(f.Sends, &gatewayv1.Send{Conversation: u.Conversation, ClientSeq: u.ClientSeq, Content: &content, PrevClientSeq: prev})
		}
		if n := len(f.Sends); n > 0 {
			c.storedClientSeq = max(c.storedClientSeq, f.Sends[n-1].ClientSeq)
		}
		c.mu.Unlock()
		if bad != nil {
			s.fail(bad)
			return
		}
		if len(f.Sends) > 0 {
			sent = f.Sends[len(f.Sends)-1].ClientSeq
			s.write(f)
			continue
		}
		select {
		case <-wake:
		case <-s.retry:
			late = time.After(time.Until(time.Unix(0, s.retryAt.Load())))
		case <-late: // sends in progress are stored once anyway
			sent, late = 0, nil
		case <-s.ctx.Done():
		}
	}
}
