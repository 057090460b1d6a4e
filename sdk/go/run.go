package rialto

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
	openWithin  = 10 * time.Second
	syncTries   = 3 // more, while a connection stands
	pollAfter   = 3 // failed connections, after which calls take the socket's place
	answerTime  = 30 * time.Second
	mostInFrame = 100
	mostBytes   = 256 << 10 // of contents in a frame; the server takes 1 MiB

	marksInFrame = 1000
	syncPage     = 1000

	closeAuth    = 4101
	closeSession = 4102
)

// ErrStayAway: the server does not understand this client; trying again would not help.
var ErrStayAway = errors.New("rialto: the server refuses this client")

// errAgain: the server asked to come back later.
var errAgain = errors.New("rialto: the server is busy")

// Run keeps the connection, sends what waits and hands events over to Config.Handler, until ctx ends (its error), the session
// does (ErrSignedOut) or the server refuses the client (ErrStayAway). It comes back from all else by itself, after a random wait
// that grows to Config.MaxWait, and makes plain calls where sockets do not open. When it returns, its goroutines have ended. One
// Run at a time: a second one is an error. It may be called again, also after another login.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("rialto: Run is running already")
	}
	defer c.running.Store(false)
	defer func() { // what was handed over by a frame that was cut short does not come again
		if err := c.keep(); err != nil {
			c.config.Logger.Warn("the state could not be kept", "error", err)
		}
	}()
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		opened, retry, err := c.serve(ctx)
		if opened {
			online := false
			c.config.Handler(Event{Online: &online})
		}
		if errors.Is(err, ErrSignedOut) || errors.Is(err, ErrStayAway) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if opened {
			if time.Since(began) > 10*time.Second {
				failures = 0
			}
		}
		c.config.Logger.Info("connection lost", "error", err, "failures", failures)
		if failures++; failures >= pollAfter && !opened {
			c.poll(ctx)
		}
		// Full jitter: clients that lost one server at the same instant come back spread over time.
		wait := retry + time.Duration(rand.Int64N(int64(min(c.config.MaxWait, firstWait<<min(failures, 10)))))
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
	return ctx.Err()
}

// poll does by calls what a socket would.
func (c *Client) poll(ctx context.Context) {
	if err := c.sync(ctx); err != nil {
		return
	}
	if err := c.sendByCall(ctx); err != nil {
		c.config.Logger.Info("messages wait", "error", err)
	}
}

// socket is an open connection.
type socket struct {
	conn *websocket.Conn
	ctx  context.Context
	fail context.CancelCauseFunc

	heard chan struct{} // something came in

	again   chan struct{} // a message is to be sent once more, at retryAt
	retryAt atomic.Int64  // Unix ns

	more  chan struct{} // something is in queue
	mu    sync.Mutex    // guards queue
	queue []*gatewayv1.ClientFrame
}

// mostQueued frames; a server that takes none of so many is given up.
const mostQueued = 4096

// put has a frame written soon. It does not wait for the server: one who reads must not, as a server that is not read from
// does not read either.
func (s *socket) put(f *gatewayv1.ClientFrame) {
	s.mu.Lock()
	if n := len(s.queue); n > 0 && isAck(s.queue[n-1]) && isAck(f) {
		s.queue[n-1] = f
	} else {
		s.queue = append(s.queue, f)
	}
	over := len(s.queue) > mostQueued
	s.mu.Unlock()
	if over {
		s.fail(errors.New("rialto: the server takes nothing"))
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// isAck tells whether a frame says no more than where the client is: the next such says all that it does.
func isAck(f *gatewayv1.ClientFrame) bool {
	return f.Ack != nil && len(f.Sends) == 0 && len(f.Marks) == 0 && f.Watch == nil && f.Typing == 0 && f.Ping == nil
}

// writing writes what was put.
func (s *socket) writing() {
	for s.ctx.Err() == nil {
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, f := range queue {
			s.write(f)
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-s.more:
		case <-s.ctx.Done():
		}
	}
}

// write waits until the network has taken a frame.
func (s *socket) write(f *gatewayv1.ClientFrame) {
	b, err := proto.Marshal(f)
	if err == nil {
		ctx, cancel := context.WithTimeout(s.ctx, answerTime)
		defer cancel()
		err = s.conn.Write(ctx, websocket.MessageBinary, b)
	}
	if err != nil {
		s.fail(err)
	}
}

var errSilent = errors.New("rialto: the server took the connection, and says nothing")

// serve runs one connection. opened tells whether Hello came; retry is how long the server asks to stay away.
func (c *Client) serve(ctx context.Context) (opened bool, retry time.Duration, err error) {
	token, err := c.token(ctx, "")
	if err != nil {
		return false, 0, err
	}
	openBy := time.Now().Add(c.config.OpenWithin)
	dial, cancelDial := context.WithDeadline(ctx, openBy)
	conn, res, err := websocket.Dial(dial, "ws"+strings.TrimPrefix(c.config.URL, "http")+"/v1/socket", &websocket.DialOptions{
		HTTPClient: c.config.HTTP, Subprotocols: []string{"rialto.v1.proto"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	cancelDial()
	if err != nil {
		if res != nil && res.StatusCode == http.StatusUnauthorized {
			_, err = c.token(ctx, token)
		}
		if res != nil && res.StatusCode == http.StatusServiceUnavailable {
			if s, serr := strconv.Atoi(res.Header.Get("Retry-After")); serr == nil {
				retry = min(time.Duration(s)*time.Second, c.config.MaxWait)
			}
		}
		return false, retry, err
	}
	conn.SetReadLimit(64 << 20)
	sctx, fail := context.WithCancelCause(ctx)
	s := &socket{conn: conn, ctx: sctx, fail: fail, heard: make(chan struct{}, 1), again: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	opening := time.AfterFunc(time.Until(openBy), func() { fail(errSilent) })
	defer opening.Stop()
	var group sync.WaitGroup
	group.Go(s.writing)
	defer func() {
		c.mu.Lock()
		c.socket = nil
		c.mu.Unlock()
		fail(context.Canceled)
		_ = conn.CloseNow() // it may be closed already
		group.Wait()
	}()
	for {
		kind, b, err := conn.Read(sctx)
		if err != nil {
			if cause := context.Cause(sctx); cause != nil && ctx.Err() == nil {
				err = cause
			}
			return opened, retry, err
		}
		if kind != websocket.MessageBinary {
			return opened, retry, errors.New("rialto: the server sent text")
		}
		var f gatewayv1.ServerFrame
		if err := proto.Unmarshal(b, &f); err != nil {
			return opened, retry, err
		}
		select {
		case s.heard <- struct{}{}:
		default:
		}
		if f.Bye != nil {
			retry = time.Duration(f.Bye.RetryMs) * time.Millisecond
			if err := c.bye(ctx, f.Bye, token); err != nil {
				return opened, retry, err
			}
			continue
		}
		if f.Hello != nil && !opened {
			opened = true
			opening.Stop()
			if err := c.greeted(sctx, s, f.Hello, &group); err != nil {
				return opened, retry, err
			}
			continue
		}
		if err := c.take(sctx, s, &f); err != nil {
			return opened, retry, err
		}
	}
}

// bye gives an error when the server wants this client to stay away.
func (c *Client) bye(ctx context.Context, b *gatewayv1.Bye, token string) error {
	switch reason := errors.New(b.Reason); {
	case b.Code == closeAuth: // the token may only have ended
		_, err := c.token(ctx, token)
		return err
	case b.Code == closeSession:
		return errors.Join(ErrSignedOut, reason, c.forget())
	case b.Code >= 4100 && b.Code < 4200:
		return errors.Join(ErrStayAway, reason)
	}
	return nil
}

// greeted goes on after Hello: sync, outbox, heartbeat.
func (c *Client) greeted(ctx context.Context, s *socket, h *gatewayv1.Hello, group *sync.WaitGroup) error {
	c.mu.Lock()
	c.state.ClientSeq = max(c.state.ClientSeq, h.ClientSeq)
	behind := c.state.Seq != h.Tail.GetSeq() || c.state.Epoch != h.Tail.GetEpoch()
	c.socket = s
	first := &gatewayv1.ClientFrame{}
	if c.watch != nil {
		first.Watch = &gatewayv1.Watch{Users: c.watch}
	}
	for _, m := range c.marks {
		first.Marks = append(first.Marks, m)
	}
	c.mu.Unlock()
	for first.Watch != nil || len(first.Marks) > 0 {
		n := min(len(first.Marks), marksInFrame)
		s.put(&gatewayv1.ClientFrame{Watch: first.Watch, Marks: first.Marks[:n]})
		first.Watch, first.Marks = nil, first.Marks[n:]
	}
	online := true
	c.config.Handler(Event{Online: &online})
	if behind {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
	}
	group.Go(func() { c.pump(s) })
	group.Go(func() { s.beat(time.Duration(h.HeartbeatMs) * time.Millisecond) })
	return nil
}

// pump puts the outbox on a connection: all of it at first, then what is added.
func (c *Client) pump(s *socket) {
	sent := uint64(0)
	var late <-chan time.Time // when refused messages go out again
	for s.ctx.Err() == nil {
		size := 0
		c.mu.Lock()
		wake := c.wake
		f := &gatewayv1.ClientFrame{}
		var bad error
		for _, u := range c.state.Outbox {
			if u.ClientSeq <= sent {
				continue
			}
			if size += len(u.Content); len(f.Sends) > 0 && size > mostBytes || len(f.Sends) >= mostInFrame {
				break
			}
			var content chatv1.Content
			if bad = proto.Unmarshal(u.Content, &content); bad != nil {
				break
			}
			f.Sends = append(f.Sends, &gatewayv1.Send{Conversation: u.Conversation, ClientSeq: u.ClientSeq, Content: &content})
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
		case <-s.again:
			late = time.After(time.Until(time.Unix(0, s.retryAt.Load())))
		case <-late: // what is under way already is stored once all the same
			sent, late = 0, nil
		case <-s.ctx.Done():
		}
	}
}

// beat sends a ping where nothing else was sent, and gives a connection up on which nothing comes back.
func (s *socket) beat(every time.Duration) {
	if every <= 0 {
		every = 5 * time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	silent := 0
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.heard:
			silent = 0
		case <-tick.C:
			if silent++; silent > 4 {
				s.fail(errors.New("rialto: the server does not answer"))
				return
			}
			s.put(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
		}
	}
}

// take handles one frame.
func (c *Client) take(ctx context.Context, s *socket, f *gatewayv1.ServerFrame) error {
	for _, r := range f.Receipts {
		if c.receipt(r) == nil {
			continue
		}
		s.retryAt.Store(time.Now().Add(time.Duration(r.Error.RetryMs) * time.Millisecond).UnixNano())
		select {
		case s.again <- struct{}{}:
		default:
		}
	}
	for _, e := range f.Events {
		if err := c.pushed(ctx, e); err != nil {
			return err
		}
	}
	if len(f.Events)+len(f.Receipts) > 0 {
		if err := c.keep(); err != nil {
			return err
		}
	}
	if n := len(f.Events); n > 0 && f.Events[n-1].Seq != 0 {
		last := f.Events[n-1]
		s.put(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Epoch: last.Epoch, Seq: last.Seq}})
	}
	if f.Hint != nil {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
	}
	if f.Typing != nil {
		c.config.Handler(Event{Typing: f.Typing, Live: true})
	}
	for _, p := range f.Presences {
		c.config.Handler(Event{Presence: p, Live: true})
	}
	return nil
}

// pushed takes an event if it is the next one. Else something is missing before it, and the stream is synced.
func (c *Client) pushed(ctx context.Context, e *chatv1.Event) error {
	c.mu.Lock()
	epoch, seq := c.state.Epoch, c.state.Seq
	c.mu.Unlock()
	switch {
	case e.Seq == 0: // of a large group: its place is that in the conversation
		return c.fill(ctx, e)
	case e.Epoch < epoch || e.Epoch == epoch && e.Seq <= seq:
		return nil
	case e.Epoch != epoch && seq != 0, e.Prev != seq:
		return c.catchUp(ctx)
	}
	c.event(e, true)
	return nil
}

// event hands one event over, and moves the position behind it.
func (c *Client) event(e *chatv1.Event, live bool) {
	out := Event{Message: e.GetMessage(), Conversation: e.GetConversation(), Mark: e.GetMark(), Relation: e.GetRelation(), Profile: e.GetProfile(), JoinRequests: e.GetJoinRequests(), Live: live}
	c.mu.Lock()
	again := out.Message != nil && out.Message.Seq <= c.state.Seen[out.Message.Conversation]
	c.mu.Unlock()
	// After a crash of the server an entry may be in the stream twice. An event without a body is of a message that has expired, or
	// of a later version.
	if !again && e.Body != nil {
		c.config.Handler(out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := out.Message; m != nil && !again {
		if c.state.Seen == nil {
			c.state.Seen = map[uint64]uint64{}
		}
		c.state.Seen[m.Conversation] = m.Seq
	}
	if e.Seq != 0 {
		c.state.Epoch, c.state.Seq = e.Epoch, e.Seq
	}
}

// keep saves the state after a frame or a page of events: a save for each would cost a sync of the disk for each.
func (c *Client) keep() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.save()
}

// catchUp syncs for a connection that stands. Calls may go to another node than it did, which stops just then: they are tried again
// before the connection is given up for them.
func (c *Client) catchUp(ctx context.Context) error {
	for try := 0; ; try++ {
		err := c.sync(ctx)
		if err == nil || try == syncTries || connect.CodeOf(err) != connect.CodeUnavailable {
			return err
		}
		t := time.NewTimer(time.Duration(rand.Int64N(int64(min(c.config.MaxWait, firstWait<<try)))))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// sync reads the stream from the position on.
func (c *Client) sync(ctx context.Context) error {
	for {
		c.mu.Lock()
		after := &chatv1.Position{Epoch: c.state.Epoch, Seq: c.state.Seq}
		c.mu.Unlock()
		page, err := c.chat.Sync(ctx, connect.NewRequest(&chatv1.SyncRequest{After: after, Limit: syncPage}))
		if err != nil {
			return err
		}
		if page.Msg.Reset_ {
			c.config.Handler(Event{Reset: true})
		}
		for _, e := range page.Msg.Events {
			c.event(e, false)
		}
		c.mu.Lock()
		c.state.Epoch, c.state.Seq = page.Msg.Next.GetEpoch(), page.Msg.Next.GetSeq()
		err = c.save()
		c.mu.Unlock()
		if err != nil || !page.Msg.More {
			return errors.Join(err, c.fillLarge(ctx, page.Msg.Large))
		}
	}
}

// fillLarge reads what large groups have beyond what was handed over.
func (c *Client) fillLarge(ctx context.Context, tails []*chatv1.LargeTail) error {
	for _, t := range tails {
		c.mu.Lock()
		seen, known := c.state.Seen[t.Conversation]
		if !known { // what came before this device is history, for those who ask for it
			if c.state.Seen == nil {
				c.state.Seen = map[uint64]uint64{}
			}
			c.state.Seen[t.Conversation] = t.LastSeq
			seen = t.LastSeq
		}
		c.mu.Unlock()
		if err := c.history(ctx, t.Conversation, seen, t.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// fill takes a message of a large group, after those that are missing before it.
func (c *Client) fill(ctx context.Context, e *chatv1.Event) error {
	m := e.GetMessage()
	if m == nil {
		return nil
	}
	c.mu.Lock()
	seen := c.state.Seen[m.Conversation]
	c.mu.Unlock()
	if seen != 0 && m.Seq > seen+1 {
		if err := c.history(ctx, m.Conversation, seen, m.Seq-1); err != nil {
			return err
		}
	}
	c.event(e, true)
	return nil
}

func (c *Client) history(ctx context.Context, conversation, after, to uint64) error {
	for after < to {
		page, err := c.chat.History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: conversation, After: max(after, 1), Limit: 200}))
		if err != nil {
			return err
		}
		for _, m := range page.Msg.Messages {
			if m.Seq > to {
				return nil
			}
			c.event(&chatv1.Event{Body: &chatv1.Event_Message{Message: m}}, false)
			after = m.Seq
		}
		if err := c.keep(); err != nil || !page.Msg.More {
			return err
		}
	}
	return nil
}
