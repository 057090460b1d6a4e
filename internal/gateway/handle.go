package gateway

import (
	"context"
	"encoding/json"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func positionOf(p message.Position) *chatv1.Position {
	return &chatv1.Position{Epoch: p.Epoch(), Seq: uint64(p)}
}

// decode reads a frame with the generated code. Unknown fields are let through in protobuf, and refused in JSON, where they
// are slips of the pen.
func (c *conn) decode(p []byte) (*gatewayv1.ClientFrame, error) {
	f := &gatewayv1.ClientFrame{}
	if c.json {
		if err := (protojson.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(p, f); err != nil {
			return nil, errs.Wrap(errs.Invalid, "bad_json", "this is not a ClientFrame in JSON: "+err.Error(), err)
		}
		return f, nil
	}
	if err := proto.Unmarshal(p, f); err != nil {
		return nil, errs.Wrap(errs.Invalid, "bad_frame", "this is not a ClientFrame in protobuf", err)
	}
	return f, nil
}

// handle does what a frame asks for, in field order.
func (c *conn) handle(f *gatewayv1.ClientFrame) error {
	s := c.server
	if f.Auth != nil {
		return c.authenticate(f)
	}
	if !c.isReady() {
		return errs.New(errs.Unauthenticated, "no_auth", "send an auth frame first")
	}
	if len(f.Sends) > maxSends || len(f.Marks) > maxSends {
		return errs.New(errs.Invalid, "too_many_sends", "a frame carries at most 4,096 sends and marks")
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
	if f.Typing != 0 {
		c.call(f.Request, func(ctx context.Context) error {
			return s.deps.Chat.Typing(ctx, c.caller.User, id.Conversation(f.Typing))
		})
	}
	if f.Ping != nil {
		c.frame(&gatewayv1.ServerFrame{Request: f.Request, Pong: &gatewayv1.Pong{TimeMs: s.deps.Clock.Now().UnixMilli()}})
	}
	if f.Call != nil {
		c.call(f.Request, func(ctx context.Context) error { return c.invoke(ctx, f.Request, f.Call) })
	}
	if f.Sync != nil {
		c.call(f.Request, func(ctx context.Context) error { return c.sync(ctx, f.Request, f.Sync) })
	}
	if f.Watch != nil {
		c.call(f.Request, func(ctx context.Context) error { return c.watch(ctx, f.Request, f.Watch) })
	}
	s.touch(c)
	return nil
}

func (c *conn) send(m *gatewayv1.Send) {
	d := &message.Draft{Conversation: id.Conversation(m.Conversation), ClientSeq: m.ClientSeq, ClientMsgID: m.ClientMsgId}
	if m.Content != nil {
		// A retry must have the same bytes, also from a client whose encoder orders fields in another way.
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Content)
		if err != nil {
			d.Err = errs.Wrap(errs.Invalid, "bad_content", "the content cannot be encoded", err)
			c.inFlight.Add(1)
			c.receipt(d)
			return
		}
		d.Content = content
	}
	c.submit(d)
}

// authenticate takes the credentials of the first frame. What else is in that frame is handled after it.
func (c *conn) authenticate(f *gatewayv1.ClientFrame) error {
	c.mu.Lock()
	again := c.ready || c.paused
	if !again {
		c.paused = true
		c.via.read(c, false)
	}
	c.mu.Unlock()
	if again {
		return errs.New(errs.Invalid, "auth_again", "this connection is authenticated already")
	}
	token := f.Auth.AccessToken
	f.Auth = nil
	under, _ := c.enterCall() // the first on this connection
	if under == nil {
		return nil
	}
	c.server.serving.Go(func() {
		err := c.welcome(under, token)
		over := under.Err() != nil
		c.leaveCall()
		switch {
		case over: // nobody is left to be told
		case err != nil:
			c.refuse(err)
		default:
			c.goOn(f)
		}
	})
	return nil
}

// welcome greets the one that a token names.
func (c *conn) welcome(under context.Context, token string) error {
	ctx, cancel := context.WithTimeout(under, callTime)
	defer cancel()
	caller, err := c.server.deps.Accounts.Verify(ctx, token)
	if err == nil && caller.User == 0 {
		err = errs.New(errs.Unauthenticated, "no_user", "a socket belongs to a user; use a user's token")
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.caller = caller
	c.mu.Unlock()
	return c.greet(ctx)
}

// refuse closes a connection that could not be greeted.
func (c *conn) refuse(err error) {
	if e := errs.Of(err); e.Kind == errs.Unauthenticated || e.Kind == errs.Denied {
		c.bye(closeAuth, e.Message, 0)
	} else {
		c.server.deps.Logger.Error("a connection could not be greeted", "user", c.caller.User, "error", err)
		c.bye(closeDrain, e.Message, c.server.config.DrainOver)
	}
	c.server.touch(c)
}

// goOn handles what came with and after the auth frame, and reads on.
func (c *conn) goOn(f *gatewayv1.ClientFrame) {
	c.reading.Lock() // until the reading goroutine has put away what came behind the auth frame
	defer c.reading.Unlock()
	if err := c.handle(f); err != nil {
		c.fault(err)
		return
	}
	held := c.in.partial
	c.in.partial, c.in.need = nil, 0
	c.readMore(held)
	c.mu.Lock()
	c.relax()
	c.mu.Unlock()
	c.server.touch(c)
}

// call runs what may wait for a store, aside; its error is answered under the request's number.
func (c *conn) call(request uint64, do func(context.Context) error) {
	fail := func(err error) {
		c.frame(&gatewayv1.ServerFrame{Request: request, Error: errorOf(err)})
		c.server.touch(c)
	}
	under, full := c.enterCall()
	if full {
		fail(&errs.Error{Kind: errs.Exhausted, Reason: "too_many_calls", Message: "at most 32 calls at once on a connection; wait for answers", Retry: 1e9})
	}
	if under == nil {
		return
	}
	c.server.serving.Go(func() {
		defer c.leaveCall()
		ctx, cancel := context.WithTimeout(under, callTime)
		defer cancel()
		select {
		case c.server.work <- struct{}{}:
		case <-ctx.Done():
			fail(&errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 1e9})
			return
		}
		defer func() { <-c.server.work }()
		err := do(ctx)
		if err != nil {
			if e := errs.Of(err); e.Kind == errs.Internal && under.Err() == nil {
				c.server.deps.Logger.Error("a call on a socket failed", "user", c.caller.User, "error", err)
			}
			fail(err)
			return
		}
		c.server.touch(c)
	})
}

func (c *conn) invoke(ctx context.Context, request uint64, call *gatewayv1.Call) error {
	in := call.Payload
	if c.json {
		in = []byte("{}")
		if call.Body != nil {
			var err error
			if in, err = json.Marshal(call.Body.AsMap()); err != nil {
				return errs.Wrap(errs.Invalid, "bad_json", "the body cannot be read", err)
			}
		}
	}
	out, err := c.server.deps.Invoker.Invoke(ctx, c.caller, call.Method, in, c.json)
	if err != nil {
		return err
	}
	if c.json {
		b := append([]byte(`{"request":`), message.AppendJSONID(nil, request)...)
		b = append(append(append(b, `,"result":{"body":`...), out...), "}}"...)
		c.answer(request, opText, b)
		return nil
	}
	op, b := c.encode(&gatewayv1.ServerFrame{Request: request, Result: &gatewayv1.Result{Payload: out}})
	c.answer(request, op, b)
	return nil
}

func (c *conn) sync(ctx context.Context, request uint64, r *chatv1.SyncRequest) error {
	// Asking with a position confirms all before it.
	c.server.deps.Inbox.Ack(c.caller, message.Position(r.GetAfter().GetSeq()))
	page, err := c.server.deps.Inbox.AppendSync(ctx, nil, c.caller.User, message.Position(r.GetAfter().GetSeq()), int(r.Limit))
	if err != nil {
		return err
	}
	if c.json {
		f := &gatewayv1.ServerFrame{Request: request, Sync: &chatv1.SyncResponse{}}
		if err := proto.Unmarshal(page, f.Sync); err != nil {
			return err
		}
		op, b := c.encode(f)
		c.answer(request, op, b)
		return nil
	}
	b, err := proto.Marshal(&gatewayv1.ServerFrame{Request: request})
	if err != nil {
		return err
	}
	c.answer(request, opBinary, message.AppendBody(b, 12, page))
	return nil
}

func (c *conn) watch(ctx context.Context, request uint64, w *gatewayv1.Watch) error {
	users := make([]id.User, len(w.Users))
	for i, u := range w.Users {
		users[i] = id.User(u)
	}
	now, err := c.server.deps.Presence.Watch(ctx, c.caller.User, c.caller.Session, users)
	if err != nil {
		return err
	}
	c.frame(&gatewayv1.ServerFrame{Request: request, Presences: now})
	return nil
}
