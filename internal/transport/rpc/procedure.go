package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// countedOnSuccess are the calls without credentials that create something each time. They count against the address even if they succeed.
var countedOnSuccess = map[string]bool{accountv1connect.AccountServiceRegisterProcedure: true, accountv1connect.AccountServiceRequestCodeProcedure: true, accountv1connect.AccountServiceRequestPasswordResetProcedure: true}

// procedure serves one call, over HTTP and from sockets. It is not generic: the code for one call would be repeated for each.
type procedure struct {
	server  *Server
	name    string
	access  access
	work    callWork
	request func() requestType
	figures *telemetry.Call
	empty   func() proto.Message // a new request
	do      func(ctx context.Context, c id.Caller, r proto.Message) (proto.Message, error)
}

// requestType is what is read from the description of a request's type, at the first call: descriptions of all types have some megabytes.
type requestType struct {
	schema *inputlimit.Schema
	lists  bool // requests may have lists
	crowds crowdFields
}

func requestTypeOf(m protoreflect.MessageType) func() requestType {
	return sync.OnceValue(func() requestType {
		d := m.Descriptor()
		return requestType{inputlimit.For(m.Zero().Interface()), hasLists(d, map[protoreflect.FullName]bool{}), crowdFieldsOf(d)}
	})
}

// newMethod creates a method from a typed function. Its types are pointers to generated messages: for pointers the compiler makes one function, for
// the messages themselves one for each call.
func newMethod[Req, Res proto.Message](s *Server, name string, who access, do func(ctx context.Context, c id.Caller, r Req) (Res, error)) method {
	var none Req
	return s.newMethod(name, who, none.ProtoReflect().Type(), func(ctx context.Context, c id.Caller, r proto.Message) (proto.Message, error) {
		return do(ctx, c, r.(Req)) // which has the type of none
	})
}

func (s *Server) newMethod(name string, who access, requests protoreflect.MessageType, do func(ctx context.Context, c id.Caller, r proto.Message) (proto.Message, error)) method {
	empty := func() proto.Message { return requests.New().Interface() }
	p := &procedure{server: s, name: name, access: who, work: workOf(name, who), request: requestTypeOf(requests), figures: s.deps.Calls.Add(name), empty: empty, do: do}
	handler := sync.OnceValue(func() *connect.Handler { return connect.NewUnaryHandler(name, p.serve, s.options(p)...) }) // at the first call, as its request's type
	return method{name: name, access: who, work: p.work, handler: func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) }, invoke: p.invoke}
}

// byUser makes what a call does of a function that needs only the user of the caller.
func byUser[Req, Res proto.Message](do func(ctx context.Context, u id.User, r Req) (Res, error)) func(ctx context.Context, c id.Caller, r Req) (Res, error) {
	return func(ctx context.Context, c id.Caller, r Req) (Res, error) { return do(ctx, c.User, r) }
}

// open prepares an envelope for a request.
func (p *procedure) open(_ connect.Spec, m any) error {
	e, ok := m.(*envelope)
	if !ok {
		return fmt.Errorf("%T is not an envelope", m)
	}
	e.message = p.empty()
	return nil
}

// serve answers a request over HTTP, and counts the answer.
func (p *procedure) serve(ctx context.Context, r *connect.Request[envelope]) (*connect.Response[envelope], error) {
	began := time.Now()
	ctx, span := p.trace(ctx, r.Header().Get("Traceparent"))
	res, err := p.answer(ctx, r)
	span.End(asTimeout(err))
	if !errors.Is(context.Cause(ctx), context.Canceled) { // otherwise the caller has disconnected
		took := time.Since(began) - incomingOf(ctx).waited
		p.figures.Done(uint32(began.Nanosecond()), took, asTimeout(err))
		p.figures.Exemplar(took, span.TraceID())
	}
	if err != nil {
		return nil, p.server.failure(p.name, err)
	}
	return connect.NewResponse(&envelope{message: res}), nil
}

func (p *procedure) answer(ctx context.Context, r *connect.Request[envelope]) (proto.Message, error) {
	s, in, request := p.server, incomingOf(ctx), r.Msg.message
	in.body.setDecoded()
	if err := errors.Join(in.err, r.Msg.fault); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	json := strings.Contains(r.Header().Get("Content-Type"), "json")
	if json {
		ctx = outputlimit.WithJSON(ctx)
	}
	refund, err := func() {}, error(nil)
	if p.access == anonymousAccess {
		slot, ok := s.unauthenticatedComplete.Acquire(netip.Prefix{}) // its network has counted it since the headers
		if !ok {
			return nil, errTooManyCalls
		}
		defer slot.Release()
		if refund, err = s.countAttempt(ctx, p.name, request); err != nil {
			return nil, err
		}
	}
	// This comes before the wait for a page, so that refused calls do not queue.
	counted, err := p.limit(ctx, in.caller, request, r.Msg.size, r.Msg.size)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, in, request); err != nil {
		counted.refundIfRefused(err)
		return nil, err
	}
	// Until the call is at work, nothing was checked for a client without credentials: then a refusal is no attempt.
	if outputlimit.IsPage(p.name) {
		done, err := s.deps.Answers.AcquirePage(ctx, in.owner)
		if err != nil {
			refund()
			return nil, err
		}
		defer done()
	}
	permit, err := p.acquireWorker(ctx, in, request)
	if err != nil {
		refund()
		counted.refund()
		return nil, err
	}
	defer permit.Release()
	res, err := p.run(ctx, in.caller, request)
	if err != nil {
		counted.refundIfRefused(err)
		return nil, err
	}
	counted.settle(request, res)
	if !countedOnSuccess[p.name] {
		refund()
	}
	if json {
		outputlimit.TruncatePage(request, res)
	}
	return res, countAnswer(ctx, res)
}

// limit counts a user's request, or refuses it.
func (p *procedure) limit(ctx context.Context, c id.Caller, r proto.Message, size, body int) (charged, error) {
	if p.access == userAccess || p.access == eventAccess || p.access == bridgeAccess {
		elements := 0
		if p.request().lists {
			elements = named(r)
		}
		return p.server.limit(ctx, c, r, elements, size, body)
	}
	return charged{}, nil
}

// acquireWorker waits for a worker of the call's class. Its caller releases the permit.
func (p *procedure) acquireWorker(ctx context.Context, in *incoming, request proto.Message) (overload.Permit, error) {
	if p.server.deps.Overload == nil || p.work.waits {
		return overload.Permit{}, nil
	}
	work := p.work
	if in.caller.Server {
		work = work.byServer()
	}
	return p.server.deps.Overload.Acquire(ctx, work.class, work.priority, callerOf(in, request, p.request().crowds))
}

// await makes a sync that waits wait.
func (s *Server) await(ctx context.Context, in *incoming, request proto.Message) error {
	q, ok := request.(*chatv1.SyncRequest)
	if !ok || q.WaitMs == 0 || s.deps.Await == nil {
		return nil
	}
	began := time.Now()
	defer func() { in.waited = time.Since(began) }()
	return asTimeout(s.deps.Await(ctx, in.caller, q))
}

// run calls the function. A panic becomes an internal error, and the server continues.
func (p *procedure) run(ctx context.Context, c id.Caller, r proto.Message) (res proto.Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.server.deps.Logger.Error("a call panicked", "method", p.name, "panic", v, "stack", string(debug.Stack()))
			err = errs.New(errs.Internal, "internal", "the server failed; try again")
		}
	}()
	res, err = p.do(ctx, c, r)
	return res, asTimeout(err)
}

// invoke answers a call from a socket.
func (p *procedure) invoke(ctx context.Context, c id.Caller, in []byte, json bool) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	ctx, span := p.trace(ctx, tracing.ParentOf(ctx))
	defer func() { span.End(asTimeout(err)) }()
	r, decode := p.empty(), decodeProto
	if json {
		decode = decodeJSON
		ctx = outputlimit.WithJSON(ctx)
	}
	if err := decode(p.request().schema, in, r, false); err != nil {
		return nil, err
	}
	if q, ok := r.(*chatv1.SyncRequest); ok && q.WaitMs > 0 {
		return nil, inputlimit.ErrWaitOnSocket
	}
	counted, err := p.limit(ctx, c, r, len(in), 0) // the gateway counted the frame's bytes
	if err != nil {
		return nil, err
	}
	res, err := p.run(ctx, c, r)
	if err != nil {
		counted.refundIfRefused(err)
		return nil, err
	}
	counted.settle(r, res)
	if json {
		outputlimit.TruncatePage(r, res)
		return protojson.Marshal(res)
	}
	return proto.Marshal(res)
}
