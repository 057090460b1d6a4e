package rialto

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

const (
	maxRetryWait        = reconnect.MaxWait
	openWithin          = reconnect.OpenWithin
	syncTries           = 3 // after the first, while a connection is open
	pollAfter           = 3 // number of failed connections after which calls replace the socket, as in the TypeScript SDK
	answerTime          = 30 * time.Second
	maxSendsInFrame     = 100
	maxServerFrame      = 8 << 20   // after decompression; a page has about 1 MiB, and at most one message more
	maxSendBytesInFrame = 256 << 10 // of contents in a frame; the server accepts 1 MiB

	maxMarksInFrame = 1000
	syncPage        = 1000

	closeDrain   = 4000
	closeAuth    = 4101
	closeSession = 4102
)

// ErrStayAway: the server does not understand this client; trying again would not help.
var ErrStayAway = errors.New("rialto: the server refuses this client")

// errAgain: the server asked to retry later.
var errAgain = errors.New("rialto: the server is busy")

// Run keeps a connection open, sends the outbox and hands events to Config.Handler. It returns when ctx ends (with its error), when the
// session ends (ErrSignedOut) or when the server refuses the client (ErrStayAway). After any other failure it reconnects, after a random
// wait that grows up to Config.MaxWait. Where sockets do not open, it receives by calls that wait at the server, and sends by calls, until one opens; while pushes lag, it syncs by calls. Its goroutines have ended when it returns. A second
// Run at the same time is an error. Run may be called again, also after another login.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("rialto: Run is running already")
	}
	defer c.running.Store(false)
	defer func() { // events of an interrupted frame that were handed over are not repeated
		if err := c.saveState(); err != nil {
			c.config.Logger.Warn("saving the state failed", "error", err)
		}
	}()
	var drafts sync.WaitGroup
	defer drafts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	drafts.Go(func() { c.runDrafts(ctx) })
	failures, retries := 0, 0
	polls := &polling{client: c}
	defer polls.stop()
	for ctx.Err() == nil {
		began := time.Now()
		opened, retry, err := c.serve(ctx, retries, polls)
		retries++
		if opened {
			retries = 0
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
			if time.Since(began) > reconnect.StableAfter {
				failures = 0
			}
		}
		c.config.Logger.Info("connection lost", "error", err, "failures", failures)
		if failures++; failures >= pollAfter && !opened {
			polls.start(ctx)
		}
		t := time.NewTimer(reconnect.Wait(failures, retry, c.config.MaxWait, rand.Int64N))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
	return ctx.Err()
}

var errSilent = errors.New("rialto: the server accepted the connection and sends nothing")

// dial opens a socket with an access token. retry is how long the server asks to wait.
func (c *Client) dial(ctx context.Context, token string, openBy time.Time) (conn *websocket.Conn, retry time.Duration, err error) {
	ctx, cancel := context.WithDeadline(ctx, openBy)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, c.gateways.next(ctx)+c.resumeQuery(), &websocket.DialOptions{
		HTTPClient: c.config.HTTP, Subprotocols: []string{"rialto.v1.proto"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
		CompressionMode: websocket.CompressionNoContextTakeover})
	if err == nil {
		conn.SetReadLimit(maxServerFrame)
		return conn, 0, nil
	}
	if res != nil && res.StatusCode == http.StatusServiceUnavailable {
		if s, serr := strconv.Atoi(res.Header.Get("Retry-After")); serr == nil {
			retry = min(time.Duration(s)*time.Second, c.config.MaxWait)
		}
	}
	if res != nil && res.StatusCode == http.StatusUnauthorized {
		return nil, retry, errUnauthenticated
	}
	return nil, retry, err
}

// resumeQuery says in the address of a socket that this client has all but the last events: in a reconnect storm such clients go first.
func (c *Client) resumeQuery() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Seq == 0 {
		return ""
	}
	return "?resume=1"
}

// errUnauthenticated: the server refused the access token at the handshake.
var errUnauthenticated = errors.New("rialto: the server refused the access token")

// serve runs one connection, after a number of failed attempts. opened reports whether Hello arrived; retry is how long the server asks to
// wait. polls ends when the socket opens.
func (c *Client) serve(ctx context.Context, retries int, polls *polling) (opened bool, retry time.Duration, err error) {
	token, err := c.token(ctx, "")
	if err != nil {
		return false, 0, err
	}
	openBy := time.Now().Add(c.config.OpenWithin)
	conn, retry, err := c.dial(ctx, token, openBy)
	if errors.Is(err, errUnauthenticated) {
		_, err = c.token(ctx, token)
		return false, retry, err
	}
	if err != nil {
		if ctx.Err() == nil && c.gateways.fail() {
			retry = 0 // another gateway need not wait
		}
		return false, retry, err
	}
	polls.stop()
	defer func() {
		if !opened && ctx.Err() == nil {
			c.gateways.fail()
		}
	}()
	sctx, fail := context.WithCancelCause(ctx)
	s := &socket{conn: conn, ctx: sctx, fail: fail, retries: retries, received: make(chan struct{}, 1), retry: make(chan struct{}, 1), queued: make(chan struct{}, 1),
		run: ctx, mode: make(chan struct{}, 1), frames: make(chan frame)}
	opening := time.AfterFunc(time.Until(openBy), func() { fail(errSilent) })
	defer opening.Stop()
	var group sync.WaitGroup
	group.Go(s.writeLoop)
	defer func() {
		c.mu.Lock()
		c.socket = nil
		c.mu.Unlock()
		fail(context.Canceled)
		_ = conn.CloseNow() // it may be closed already
		group.Wait()
	}()
	c.lag = pushLag{}
	group.Go(s.readLoop)
	for {
		f, err := c.next(sctx, s)
		switch {
		case err != nil:
		case f.Bye != nil:
			retry = time.Duration(f.Bye.RetryMs) * time.Millisecond
			if f.Bye.Code == closeDrain {
				c.gateways.fail()
			}
			err = c.onBye(ctx, f.Bye, token)
		case f.Hello != nil && !opened:
			opened = true
			opening.Stop()
			c.gateways.opened(f.Hello.Node)
			err = c.onHello(sctx, s, f.Hello, &group)
		default:
			err = c.onFrame(sctx, s, f)
		}
		if err != nil {
			return opened, retry, err
		}
	}
}

// next returns the next frame. While it waits, it syncs if pushes lag. The call may reach a node that does not answer, so it has little time: frames wait meanwhile.
func (c *Client) next(ctx context.Context, s *socket) (*gatewayv1.ServerFrame, error) {
	for {
		sync, again := c.lag.due(time.Now())
		if sync {
			within, cancel := context.WithTimeout(ctx, lagSyncWithin)
			if err := c.sync(within); err != nil { // the connection is open all the same
				c.config.Logger.Info("a sync failed while pushes lag", "error", err)
			}
			cancel()
		}
		var timer <-chan time.Time
		if !again.IsZero() {
			timer = time.After(time.Until(again))
		}
		select {
		case r := <-s.frames:
			return r.frame, r.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer:
		}
	}
}

// onBye returns an error if the client must not reconnect.
func (c *Client) onBye(ctx context.Context, b *gatewayv1.Bye, token string) error {
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

// onHello starts the work of a connection: sync, outbox, heartbeat.
func (c *Client) onHello(ctx context.Context, s *socket, h *gatewayv1.Hello, group *sync.WaitGroup) error {
	c.lag.clock(h.TimeMs, time.Now())
	c.mu.Lock()
	c.state.ClientSeq, c.storedClientSeq = max(c.state.ClientSeq, h.ClientSeq), h.ClientSeq
	behind := c.state.Seq != h.Tail.GetSeq() || c.state.Epoch != h.Tail.GetEpoch() || !c.noLarge
	c.mapURL = h.MapUrl
	c.socket = s
	s.background.Store(c.background)
	first := &gatewayv1.ClientFrame{}
	if c.watch != nil {
		first.Watch = &gatewayv1.Watch{Users: c.watch}
	}
	first.Activity = c.device
	first.WatchReaders = c.watchedReaders
	c.mu.Unlock()
	if first.Watch != nil || first.WatchReaders != nil || first.Activity != 0 {
		s.enqueue(first)
	}
	c.mu.Lock()
	c.enterRooms(s)
	c.signalDrafts() // the server can be reached again
	c.mu.Unlock()
	online := true
	c.config.Handler(Event{Online: &online})
	if behind {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
	}
	c.sendMarks(s)
	group.Go(func() { c.sendOutbox(s) })
	group.Go(func() { s.heartbeat(newHeartbeat(h, &c.idle)) })
	return nil
}

// sendMarks sends all cursors, once the stream has said whether there was a reset. From then on each goes at once.
func (c *Client) sendMarks(s *socket) {
	var marks []*gatewayv1.Mark
	c.mu.Lock()
	s.sendsMarks = true
	clear(c.unsentMarks)
	for _, m := range c.marks {
		marks = append(marks, m)
	}
	c.mu.Unlock()
	for some := range slices.Chunk(marks, maxMarksInFrame) {
		s.enqueue(&gatewayv1.ClientFrame{Marks: some})
	}
}

// onFrame handles a frame.
func (c *Client) onFrame(ctx context.Context, s *socket, f *gatewayv1.ServerFrame) error {
	now := time.Now()
	c.lag.clock(f.Pong.GetTimeMs(), now)
	for _, r := range f.Receipts {
		if r.Error == nil && c.isInNoLargeGroup() { // messages to a large group are not in the stream
			c.lag.acknowledged(r.ClientSeq, now)
		}
		if c.receipt(r) == nil {
			continue
		}
		s.retryAt.Store(time.Now().Add(time.Duration(r.Error.RetryMs) * time.Millisecond).UnixNano())
		select {
		case s.retry <- struct{}{}:
		default:
		}
	}
	for _, e := range f.Events {
		c.lag.pushed(e.GetMessage().GetTimeMs(), now)
		if err := c.onEvent(ctx, e); err != nil {
			return err
		}
	}
	if len(f.Events)+len(f.Receipts) > 0 {
		if err := c.saveState(); err != nil {
			return err
		}
	}
	if n := len(f.Events); n > 0 && f.Events[n-1].Seq != 0 {
		last := f.Events[n-1]
		s.enqueue(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Epoch: last.Epoch, Seq: last.Seq}})
	}
	if f.Hint != nil {
		if err := c.onHint(ctx, f.Hint); err != nil {
			return err
		}
	}
	for _, p := range f.Posts {
		c.config.Handler(Event{Post: p, Live: true})
	}
	if f.Notifications != nil {
		c.config.Handler(Event{Notifications: f.Notifications, Live: true})
	}
	if f.Decisions != nil {
		c.config.Handler(Event{Decisions: f.Decisions, Live: true})
	}
	if f.Typing != nil {
		c.config.Handler(Event{Typing: f.Typing, Live: true})
	}
	for _, p := range f.Presences {
		c.config.Handler(Event{Presence: p, Live: true})
	}
	for _, r := range f.Readers {
		c.config.Handler(Event{Readers: r, Live: true})
	}
	for _, t := range f.Streamed {
		if t.Ended {
			c.written.stopped(t.Conversation, t.Seq)
		}
		c.config.Handler(Event{Streamed: t, Live: true})
	}
	c.onRooms(s, f)
	return nil
}
