package rpc

import (
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// envelope holds a request, or an answer, so that Connect has one type for all calls. It also has the error of decoding a request: Connect's
// own answers to such errors would have no reason, and would precede authentication.
type envelope struct {
	message proto.Message // of a request, empty until it is decoded (procedure.open)
	size    int           // of a request in bytes, after decompression
	fault   error
}

func (e *envelope) decode(data []byte, decode decode, schema *inputlimit.Schema, lax bool) {
	e.size = len(data)
	e.fault = decode(schema, data, e.message, lax)
}

// decode counts a request and then decodes it. If lax, JSON may have unknown fields.
type decode func(schema *inputlimit.Schema, data []byte, m proto.Message, lax bool) error

// decodeJSON decodes a request's JSON. If lax, it ignores unknown fields.
func decodeJSON(schema *inputlimit.Schema, data []byte, m proto.Message, lax bool) error {
	if err := schema.JSON(data); err != nil {
		return err
	}
	err := protojson.UnmarshalOptions{DiscardUnknown: lax}.Unmarshal(data, m)
	switch {
	case len(data) == 0:
		return errs.New(errs.Invalid, "bad_json", "the body is empty; a request without fields is {}")
	case err != nil:
		return errs.Wrap(errs.Invalid, "bad_json", "the body is not a request of this call: "+inputlimit.Brief(err.Error()), err)
	}
	return nil
}

// decodeProto decodes a request's protobuf, and keeps unknown fields.
func decodeProto(schema *inputlimit.Schema, data []byte, m proto.Message, _ bool) error {
	err := schema.Proto(data)
	if err == nil {
		err = proto.Unmarshal(data, m)
	}
	if e := (*errs.Error)(nil); err != nil && !errors.As(err, &e) {
		err = errs.Wrap(errs.Invalid, "bad_payload", "the payload is not a request of this call", err)
	}
	return err
}

// protoCodec and jsonCodec fill envelopes. Decoding errors go into the envelope.
type (
	protoCodec struct{ schema *inputlimit.Schema }
	jsonCodec  struct {
		name   string
		schema *inputlimit.Schema
		lax    bool // requests may have unknown fields
	}
)

// Name of the codec in Connect.
func (protoCodec) Name() string { return "proto" }

// Name of the codec in Connect.
func (c jsonCodec) Name() string { return c.name }

func protoOf(m any) (proto.Message, error) {
	switch m := m.(type) {
	case *envelope:
		return m.message, nil
	case proto.Message:
		return m, nil
	}
	return nil, fmt.Errorf("%T is not a message", m)
}

// Marshal encodes an answer.
func (c protoCodec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// Marshal encodes an answer as JSON.
func (c jsonCodec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// MarshalAppend appends an answer to a buffer that Connect reuses.
func (protoCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	p, err := protoOf(m)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(b, p)
}

// MarshalAppend appends an answer as JSON to a buffer that Connect reuses.
func (jsonCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	p, err := protoOf(m)
	if err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{}.MarshalAppend(b, p)
}

// Unmarshal decodes a request, or a message of the protocol itself.
func (c protoCodec) Unmarshal(data []byte, m any) error {
	if e, ok := m.(*envelope); ok {
		e.decode(data, decodeProto, c.schema, true)
		return nil
	}
	p, err := protoOf(m)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, p)
}

// Unmarshal decodes a request.
func (c jsonCodec) Unmarshal(data []byte, m any) error {
	e, ok := m.(*envelope)
	if !ok {
		return fmt.Errorf("%T is not a request", m)
	}
	e.decode(data, decodeJSON, c.schema, c.lax)
	return nil
}
