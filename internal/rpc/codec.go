package rpc

import (
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/errs"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// envelope is a request, or what is wrong with it. Connect's own answers to what cannot be decoded would have no reason, and
// would come before the caller is known.
type envelope[Req any, PReq wire[Req]] struct {
	request Req
	fault   error
}

func (e *envelope[Req, PReq]) decode(data []byte, decode func([]byte, proto.Message, bool) error) {
	e.fault = decode(data, PReq(&e.request), true)
}

type decoder interface {
	decode(data []byte, decode func([]byte, proto.Message, bool) error)
}

// decodeJSON reads a request's JSON. Fields of later versions are ignored where lax.
func decodeJSON(data []byte, m proto.Message, lax bool) error {
	err := protojson.UnmarshalOptions{DiscardUnknown: lax}.Unmarshal(data, m)
	switch {
	case len(data) == 0:
		return errs.New(errs.Invalid, "bad_json", "the body is empty; a request without fields is {}")
	case err != nil:
		return errs.Wrap(errs.Invalid, "bad_json", "the body is not a request of this call: "+brief(err.Error()), err)
	}
	return nil
}

// brief cuts what may repeat a megabyte of the request.
func brief(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd") // an error's detail is protobuf
}

// decodeProto reads a request's protobuf, which keeps fields of later versions as they are.
func decodeProto(data []byte, m proto.Message, _ bool) error {
	if err := proto.Unmarshal(data, m); err != nil {
		return errs.Wrap(errs.Invalid, "bad_payload", "the payload is not a request of this call", err)
	}
	return nil
}

// protoCodec and jsonCodec fill envelopes, and never fail at that.
type (
	protoCodec struct{}
	jsonCodec  struct{ name string }
)

// Name under which Connect knows the codec.
func (protoCodec) Name() string { return "proto" }

// Name under which Connect knows the codec.
func (c jsonCodec) Name() string { return c.name }

func protoOf(m any) (proto.Message, error) {
	p, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", m)
	}
	return p, nil
}

// Marshal gives an answer's bytes.
func (c protoCodec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// Marshal gives an answer's JSON.
func (c jsonCodec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// MarshalAppend appends an answer's bytes to a buffer that Connect uses again.
func (protoCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	p, err := protoOf(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(b, p)
}

// MarshalAppend appends an answer's JSON to a buffer that Connect uses again.
func (jsonCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	p, err := protoOf(m)
	if err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{}.MarshalAppend(b, p)
}

// Unmarshal reads a request, or a message of the protocol itself.
func (protoCodec) Unmarshal(data []byte, m any) error {
	if e, ok := m.(decoder); ok {
		e.decode(data, decodeProto)
		return nil
	}
	p, err := protoOf(m)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, p)
}

// Unmarshal reads a request.
func (jsonCodec) Unmarshal(data []byte, m any) error {
	e, ok := m.(decoder)
	if !ok {
		return fmt.Errorf("%T is no request", m)
	}
	e.decode(data, decodeJSON)
	return nil
}
