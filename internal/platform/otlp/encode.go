package otlp

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that are written: of ExportTraceServiceRequest, and of the messages in it.
const (
	requestResourceSpans                              = 1
	resourceSpansResource, resourceSpansScopeSpans    = 1, 2
	resourceAttributes                                = 1
	scopeSpansScope, scopeSpansSpans                  = 1, 2
	scopeName                                         = 1
	spanTrace, spanID, spanParent, spanName, spanKind = 1, 2, 4, 5, 6
	spanStart, spanEnd, spanAttributes, spanLinks     = 7, 8, 9, 13
	spanStatus, spanFlags                             = 15, 16
	linkTrace, linkID                                 = 1, 2
	statusMessage, statusCode, statusError            = 2, 3, 2
	keyValueKey, keyValueValue                        = 1, 2
	valueString, valueBool, valueInt                  = 1, 2, 3
	sampledFlag                                       = 1
)

// encoder writes requests. It keeps its memory for the next one.
type encoder struct {
	head  []byte // the resource and the scope, encoded
	scope []byte // the scope and the spans
	span  []byte
	part  []byte // of a span
	out   []byte
}

func newEncoder(node, version string) *encoder {
	e := &encoder{}
	var resource []byte
	for _, a := range []attribute.KeyValue{attribute.String("service.name", "rialto"), attribute.String("service.version", version), attribute.String("service.instance.id", node)} {
		resource = e.appendAttribute(resource, resourceAttributes, string(a.Key), a.Value)
	}
	e.head = appendBytes(nil, resourceSpansResource, resource)
	return e
}

// encode returns a request with spans, which is valid until the next call.
func (e *encoder) encode(spans []*tracing.Ended) []byte {
	e.part = appendText(e.part[:0], scopeName, "github.com/rialto-im/rialto")
	e.scope = appendBytes(e.scope[:0], scopeSpansScope, e.part)
	for _, s := range spans {
		e.encodeSpan(s)
		e.scope = appendBytes(e.scope, scopeSpansSpans, e.span)
	}
	e.span = appendBytes(append(e.span[:0], e.head...), resourceSpansScopeSpans, e.scope)
	e.out = appendBytes(e.out[:0], requestResourceSpans, e.span)
	return e.out
}

func (e *encoder) encodeSpan(s *tracing.Ended) {
	trace, self := s.Self.TraceID(), s.Self.SpanID()
	b := appendBytes(e.span[:0], spanTrace, trace[:])
	b = appendBytes(b, spanID, self[:])
	if s.Parent.IsValid() {
		b = appendBytes(b, spanParent, s.Parent[:])
	}
	b = appendText(b, spanName, s.Name)
	b = appendVarint(b, spanKind, uint64(s.Kind))
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanStart, protowire.Fixed64Type), uint64(s.Start.UnixNano()))
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanEnd, protowire.Fixed64Type), uint64(s.End.UnixNano()))
	for _, a := range s.Attributes {
		b = e.appendAttribute(b, spanAttributes, string(a.Key), a.Value)
	}
	if s.Message != (id.Message{}) {
		b = appendTextAttribute(b, spanAttributes, "rialto.message.id", s.Message.String())
	}
	if s.Step != "" {
		b = appendTextAttribute(b, spanAttributes, "rialto.step", s.Step)
	}
	for _, l := range s.Links {
		b = e.appendLink(b, l)
	}
	if s.Failure != "" {
		e.part = appendVarint(appendText(e.part[:0], statusMessage, s.Failure), statusCode, statusError)
		b = appendBytes(b, spanStatus, e.part)
	}
	e.span = protowire.AppendFixed32(protowire.AppendTag(b, spanFlags, protowire.Fixed32Type), sampledFlag)
}

func (e *encoder) appendLink(b []byte, to trace.SpanContext) []byte {
	of, span := to.TraceID(), to.SpanID()
	e.part = appendBytes(appendBytes(e.part[:0], linkTrace, of[:]), linkID, span[:])
	return appendBytes(b, spanLinks, e.part)
}

// appendAttribute appends an attribute: a bool, a whole number, or a text, which others become.
func (e *encoder) appendAttribute(b []byte, field protowire.Number, key string, value attribute.Value) []byte {
	var small [2 * binary.MaxVarintLen64]byte
	switch v := small[:0]; value.Type() {
	case attribute.BOOL:
		return appendKeyValue(b, field, key, appendVarint(v, valueBool, protowire.EncodeBool(value.AsBool())))
	case attribute.INT64:
		return appendKeyValue(b, field, key, appendVarint(v, valueInt, uint64(value.AsInt64())))
	}
	return appendTextAttribute(b, field, key, value.String())
}

func appendTextAttribute(b []byte, field protowire.Number, key, text string) []byte {
	value := protowire.SizeTag(valueString) + protowire.SizeBytes(len(text))
	size := protowire.SizeTag(keyValueKey) + protowire.SizeBytes(len(key)) + protowire.SizeTag(keyValueValue) + protowire.SizeBytes(value)
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	b = appendText(b, keyValueKey, key)
	b = protowire.AppendVarint(protowire.AppendTag(b, keyValueValue, protowire.BytesType), uint64(value))
	return appendText(b, valueString, text)
}

func appendKeyValue(b []byte, field protowire.Number, key string, value []byte) []byte {
	size := protowire.SizeTag(keyValueKey) + protowire.SizeBytes(len(key)) + protowire.SizeTag(keyValueValue) + protowire.SizeBytes(len(value))
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	return appendBytes(appendText(b, keyValueKey, key), keyValueValue, value)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

func appendVarint(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}
