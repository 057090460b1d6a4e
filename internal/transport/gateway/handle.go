package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/tracing"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func positionOf(p message.Position) *chatv1.Position {
	return &chatv1.Position{Epoch: p.Epoch(), Seq: uint64(p)}
}

// frameSchema counts frames before they are decoded. It is made for the first.
var frameSchema = sync.OnceValue(func() *inputlimit.Schema { return inputlimit.For(&gatewayv1.ClientFrame{}) })

// count counts the elements of a frame before it is decoded. Body and Auth of the result are of a frame in JSON only, and parts of p.
func (c *conn) count(p []byte) (counted inputlimit.Captured, err error) {
	if c.json {
		return frameSchema().Capture(p)
	}
	counted.Elements, err = frameSchema().Count(p)
	return counted, frameError(err)
}

// decode reads a frame of an authenticated connection, which was counted, with the generated code. Unknown fields are ignored in protobuf, and refused in
// JSON, where they are typing errors. The body of a call in JSON stays as it is: its method decodes it, with limits of its own, and not while other
// connections wait.
func (c *conn) decode(p []byte, counted inputlimit.Captured) (*gatewayv1.ClientFrame, error) {
	f := &gatewayv1.ClientFrame{}
	if !c.json {
		return f, frameError(proto.Unmarshal(p, f))
	}
	if err := (protojson.UnmarshalOptions{}).Unmarshal(counted.WithoutBody(p), f); err != nil {
		return nil, errs.Wrap(errs.Invalid, "bad_json", "this is not a ClientFrame in JSON: "+inputlimit.Brief(err.Error()), err)
	}
	if f.Call != nil {
		f.Call.Body, f.Call.Payload = nil, bytes.Clone(counted.Body)
	}
	return f, nil
}

// frameError is the error of a frame in protobuf that cannot be decoded.
func frameError(err error) error {
	if e := (*errs.Error)(nil); err != nil && !errors.As(err, &e) {
		return errs.Wrap(errs.Invalid, "bad_frame", "this is not a ClientFrame in protobuf", err)
	}
	return err
}

// authField is the number of ClientFrame.auth.
const authField = 2

// decodeAuth reads nothing of a frame but its credentials; nil: it has none. Whoever sends it is unknown.
func (c *conn) decodeAuth(p []byte) (*gatewayv1.Auth, error) {
	counted, err := c.count(p)
	if err != nil {
		return nil, err
	}
	if c.json {
		if counted.Auth == nil {
			return nil, nil
		}
		a := &gatewayv1.Auth{}
		if err := (protojson.UnmarshalOptions{}).Unmarshal(counted.Auth, a); err != nil {
			return nil, errs.Wrap(errs.Invalid, "bad_json", "the frame's auth is not in JSON: "+inputlimit.Brief(err.Error()), err)
		}
		return a, nil
	}
	var value []byte // of the last one, which counts
	for len(p) > 0 {
		number, kind, n := protowire.ConsumeField(p)
		if n < 0 {
			return nil, frameError(protowire.ParseError(n))
		}
		if number == authField && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(p)
			value, _ = protowire.ConsumeBytes(p[tag:])
		}
		p = p[n:]
	}
	if value == nil {
		return nil, nil
	}
	a := &gatewayv1.Auth{}
	return a, frameError((proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(value, a))
}

// handle executes a frame of the given size, in field order.
func (c *conn) handle(f *gatewayv1.ClientFrame, bytes int) error {
	s := c.server
	if f.Auth != nil {
		return errs.New(errs.Invalid, "auth_again", "this connection is authenticated already")
	}
	if !c.isReady() {
		return nil // it closes: nothing that it still sends is of use
	}
	if err := c.countFrame(f, bytes); err != nil {
		return err
	}
	if err := checkSendIDs(f.Sends); err != nil {
		c.sendFrame(&gatewayv1.ServerFrame{Request: f.Request, Error: errorOf(err)})
		s.requestFlush(c)
		return nil
	}
	for _, m := range f.Sends {
		c.send(m)
	}
	if f.Ack != nil {
		s.deps.Inbox.Ack(c.caller, message.Position(f.Ack.Seq))
	}
	for _, m := range f.Marks {
		s.deps.Inbox.Mark(c.caller.User, id.Conversation(m.Conversation), m.DeliveredSeq, m.ReadSeq)
	}
	request := f.Request
	if f.Typing != 0 {
		in := id.Conversation(f.Typing)
		c.call("typing", request, 0, func(ctx context.Context) error { return s.deps.Chat.Typing(ctx, c.caller.User, in) })
	}
	switch f.Activity {
	case presencev1.Activity_ACTIVITY_ACTIVE:
		c.setAway(false)
	case presencev1.Activity_ACTIVITY_AWAY:
		c.setAway(true)
	}
	if f.Ping != nil {
		c.allowSilence(f.Ping.NextMs)
		c.sendPong(c.encode(&gatewayv1.ServerFrame{Request: f.Request, Pong: &gatewayv1.Pong{TimeMs: s.deps.Clock.Now().UnixMilli()}}))
	}
	if f.Call != nil {
		call := f.Call // a waiting call does not keep the rest of the frame in memory
		c.call(call.Method, request, len(call.Payload), func(ctx context.Context) error { return c.invoke(ctx, request, call) })
	}
	if f.Sync != nil {
		after := f.Sync
		c.call("sync", request, 0, func(ctx context.Context) error { return c.sync(ctx, request, after) })
	}
	if f.Watch != nil {
		users := f.Watch
		c.call("watch", request, 0, func(ctx context.Context) error { return c.watch(ctx, request, users) })
	}
	if f.WatchReaders != nil {
		c.watchReaders(request, f.WatchReaders.Messages)
	}
	c.handleRooms(f)
	if f.WatchPosts != nil {
		c.watchPosts(request, f.WatchPosts.Posts)
	}
	s.requestFlush(c)
	return nil
}

// checkSendIDs refuses a frame with a send that has no id, since no receipt could be matched to it.
func checkSendIDs(sends []*gatewayv1.Send) error {
	for i, m := range sends {
		if m.ClientSeq == 0 && m.ClientMsgId == "" {
			return errs.New(errs.Invalid, "no_client_id", fmt.Sprintf("sends[%d] has neither clientSeq nor clientMsgId; nothing of this frame was executed", i))
		}
	}
	return nil
}

func (c *conn) send(m *gatewayv1.Send) {
	d := &message.Draft{Conversation: id.Conversation(m.Conversation), ClientSeq: m.ClientSeq, ClientMsgID: m.ClientMsgId, PrevClientSeq: m.PrevClientSeq}
	if m.Content != nil {
		// A retry must have the same bytes, also from a client whose encoder orders fields in another way.
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Content)
		if err != nil {
			d.Err = errs.Wrap(errs.Invalid, "bad_content", "the content cannot be encoded", err)
			c.addInFlight(d.Cost)
			c.receipt(d)
			return
		}
		d.Content = content
	}
	c.submit(d)
}

// handleFirst takes the credentials of the first frame. All else in it is decoded and handled when its sender is known.
func (c *conn) handleFirst(p []byte) error {
	a, err := c.decodeAuth(p)
	switch {
	case err != nil:
		return c.rejectFrame(err)
	case a == nil:
		return errs.New(errs.Unauthenticated, "no_auth", "send an auth frame first")
	}
	return c.authenticate(a.AccessToken, bytes.Clone(p))
}

// authenticate verifies the token of the first frame, and then handles the frame.
func (c *conn) authenticate(token string, frame []byte) error {
	c.mu.Lock()
	begun, over := c.advance(stateGreeting), c.isEnding()
	if begun {
		c.pauseReading()
		c.decodingAsync = true
	}
	c.mu.Unlock()
	switch {
	case over:
		return nil
	case !begun:
		return errs.New(errs.Invalid, "auth_again", "this connection is authenticated already")
	}
	under, _ := c.beginCall() // the first on this connection
	if under == nil {
		return nil
	}
	c.server.serving.Go(func() {
		err := c.verifyAndGreet(under, token)
		over := under.Err() != nil
		c.endCall()
		switch {
		case over: // the connection is closed
		case err != nil:
			c.refuse(err)
		default:
			c.decodeAsync(frame, true, false)
		}
	})
	return nil
}

// verifyAndGreet greets the user of a token.
func (c *conn) verifyAndGreet(under context.Context, token string) error {
	ctx, cancel := context.WithTimeout(under, callTime)
	defer cancel()
	caller, err := c.server.deps.Accounts.Verify(ctx, token)
	if err == nil && (caller.User == 0 || caller.Bot) {
		err = errs.New(errs.Unauthenticated, "no_user", "a socket belongs to a user; use a user's token")
	}
	if err != nil {
		return err
	}
	c.slot.Release()
	c.mu.Lock()
	c.caller = caller
	c.mu.Unlock()
	return c.greet(ctx)
}

var errUserConnections = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_connections", Message: "this user has as many sockets as one may; close some", Retry: 30 * time.Second}

// refuse closes a connection that could not be greeted.
func (c *conn) refuse(err error) {
	switch e := errs.Of(err); {
	case e.Kind == errs.Unauthenticated || e.Kind == errs.Denied:
		c.sayGoodbye(closeAuth, e.Message, 0)
	case e.Kind == errs.Exhausted:
		c.sayGoodbye(closeDrain, e.Message, e.Retry)
	default:
		c.server.deps.Logger.Error("a connection could not be greeted", "user", c.caller.User, "error", err)
		c.sayGoodbye(closeDrain, e.Message, c.server.config.DrainOver)
	}
	c.server.requestFlush(c)
}

// call runs do, which may wait for a store, in a goroutine, and answers its error under the request's number. The name is for the metrics.
func (c *conn) call(name string, request uint64, bytes int, do func(context.Context) error) {
	began, figures := time.Now(), c.server.deps.Calls.Named(name)
	under, full := c.beginCall()
	count := func(err error) {
		if under == nil || under.Err() == nil { // else the connection has ended
			figures.Done(uint32(c.shard), time.Since(began), err)
		}
	}
	fail := func(err error) {
		count(err)
		c.sendFrame(&gatewayv1.ServerFrame{Request: request, Error: errorOf(err)})
		c.server.requestFlush(c)
	}
	if full {
		fail(&errs.Error{Kind: errs.Exhausted, Reason: "too_many_calls", Message: "at most 32 concurrent calls on a connection; wait for answers", Retry: 1e9})
	}
	if under == nil {
		return
	}
	var hold budget.Hold
	if !hold.Set(c.server.deps.Input.Authenticated, c.owner(), bytes) {
		fail(inputlimit.ErrBusy)
		c.endCall()
		return
	}
	c.server.serving.Go(func() {
		defer c.endCall()
		defer hold.Release()
		ctx, cancel := context.WithTimeout(under, callTime)
		defer cancel()
		if name == "sync" || name == "watch" || outputlimit.IsPage(name) { // a user's are few at once, so that no user fills the queue of readers
			done, err := c.server.deps.Answers.AcquirePage(ctx, c.owner())
			if err != nil {
				fail(err)
				return
			}
			defer done()
			if c.hasUnreadAnswers() {
				fail(outputlimit.ErrUnread)
				return
			}
		}
		permit, err := c.acquireWorker(ctx, name)
		if err != nil {
			fail(err)
			return
		}
		defer permit.Release()
		if err := do(ctx); err != nil {
			switch e := errs.Of(err); {
			case e.Kind == errs.Internal && under.Err() == nil:
				c.server.deps.Logger.Error("a call on a socket failed", "user", c.caller.User, "error", err)
			case e.Reason == "too_many_requests":
				c.throttle(1) // decoding refused calls costs too
			}
			fail(err)
			return
		}
		count(nil)
		c.server.requestFlush(c)
	})
}

// acquireWorker waits for a worker for a call. Its caller releases the permit.
func (c *conn) acquireWorker(ctx context.Context, name string) (overload.Permit, error) {
	class, priority := overload.Chat, overload.Last // presence, typing, and what else shows what others do
	switch name {
	case "sync":
		priority = overload.First
	case "enter_room":
		priority = overload.Normal
	case "typing", "watch", "watch_readers", "watch_posts":
	default:
		if c.server.deps.SocketWork != nil {
			class, priority = c.server.deps.SocketWork(name)
		}
	}
	return c.server.deps.Overload.Acquire(ctx, class, priority, overload.Caller{User: uint64(c.caller.User), Network: c.network})
}

// syncMethod is the one call whose answer is ordered with the pushed events.
const syncMethod = "/rialto.chat.v1.ChatService/Sync"

func (c *conn) invoke(ctx context.Context, request uint64, call *gatewayv1.Call) error {
	in := call.Payload
	if c.json && len(in) == 0 {
		in = []byte("{}")
	}
	if call.Method == syncMethod {
		c.withhold()
		defer c.releaseWithheld()
	}
	ctx = tracing.WithParent(ctx, call.Traceparent)
	out, err := c.server.deps.Invoker.Invoke(ctx, c.caller, call.Method, in, c.json)
	if err != nil {
		return err
	}
	if c.json {
		b := append([]byte(`{"request":`), message.AppendJSONID(nil, request)...)
		b = append(append(append(b, `,"result":{"body":`...), out...), "}}"...)
		c.sendAnswer(request, opText, b)
		return nil
	}
	op, b := c.encode(&gatewayv1.ServerFrame{Request: request, Result: &gatewayv1.Result{Payload: out}})
	c.sendAnswer(request, op, b)
	return nil
}

func (c *conn) watch(ctx context.Context, request uint64, w *gatewayv1.Watch) error {
	if err := c.allowCall(len(w.Users)); err != nil {
		return err
	}
	users := make([]id.User, len(w.Users))
	for i, u := range w.Users {
		users[i] = id.User(u)
	}
	now, err := c.server.deps.Presence.Watch(ctx, c.caller.User, c.caller.Session, users)
	if err != nil {
		return err
	}
	c.sendFrame(&gatewayv1.ServerFrame{Request: request, Presences: now})
	return nil
}
