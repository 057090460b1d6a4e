// Package unary is connect.Client for the generated clients, without its cost: connect.Client is generic, and the compiler repeats all of its code
// for each call of the API, which made each program with this SDK up to 10 MB larger. Here one connect.Client makes all calls, of envelopes.
package unary

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Envelope is a message of any type. Codecs and interceptors use it as if it were that message, through ProtoReflect.
type Envelope struct{ message proto.Message }

// ProtoReflect returns the reflection of the message inside. Its method Interface returns the message itself.
func (e *Envelope) ProtoReflect() protoreflect.Message { return e.message.ProtoReflect() }

// Client calls one procedure, as connect.Client does. The compiler repeats its methods for each call of the API, so they leave to functions
// without type parameters what they can.
type Client[Req, Res any] struct {
	calls *connect.Client[Envelope, Envelope]
}

// NewClient creates a client. Req and Res are generated messages. The parameters are those of connect.NewClient, the schema of the procedure among
// its options.
func NewClient[Req, Res any](client connect.HTTPClient, url string, options ...connect.ClientOption) *Client[Req, Res] {
	return &Client[Req, Res]{newCalls(client, url, (*Res)(nil), options)}
}

// newCalls creates a client whose answers have the type of one that is nil.
func newCalls(client connect.HTTPClient, url string, answer any, options []connect.ClientOption) *connect.Client[Envelope, Envelope] {
	answers := answer.(proto.Message).ProtoReflect().Type()
	return connect.NewClient[Envelope, Envelope](client, url, append(options, connect.WithResponseInitializer(func(_ connect.Spec, m any) error {
		m.(*Envelope).message = answers.New().Interface()
		return nil
	}))...)
}

// CallUnary makes a call. Its errors are those of connect.Client's CallUnary. The request's Spec, Peer and HTTPMethod remain empty, because only
// Connect can set them: interceptors have those of the envelope.
func (c *Client[Req, Res]) CallUnary(ctx context.Context, r *connect.Request[Req]) (*connect.Response[Res], error) {
	answer, err := call(ctx, c.calls, r.Msg, r.Header())
	if err != nil {
		return nil, err
	}
	res := connect.NewResponse(any(answer.Msg.message).(*Res))
	copyHeaders(res.Header(), res.Trailer(), answer)
	return res, nil
}

func call(ctx context.Context, calls *connect.Client[Envelope, Envelope], m any, header http.Header) (*connect.Response[Envelope], error) {
	r := connect.NewRequest(&Envelope{m.(proto.Message)})
	maps.Copy(r.Header(), header)
	return calls.CallUnary(ctx, r)
}

func copyHeaders(header, trailer http.Header, answer *connect.Response[Envelope]) {
	maps.Copy(header, answer.Header())
	maps.Copy(trailer, answer.Trailer())
}
