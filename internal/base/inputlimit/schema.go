// Package inputlimit bounds the memory and work that clients can cause: the elements, fields and nesting of a message, which are
// counted over its bytes before anything is decoded, and in JSON the names of enum values; the memory of incomplete input; and the connections of one network address.
//
// A Schema counts without allocation, in time linear in the bytes that were read when a limit is exceeded. A Budget is shared by all code that
// buffers input. Nothing blocks. All exported methods are safe for concurrent use.
package inputlimit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of one message of any schema.
const (
	// MaxDepth of nested messages, objects and lists.
	MaxDepth = 32
	// MaxKeys of a JSON object, and elements of a list that no schema describes.
	MaxKeys = 1000
	// MaxFields of a message including nested ones; elements of lists count too.
	MaxFields = 65_536
	// maxRepeated fields that one message type may have.
	maxRepeated = 4
)

// Rejections of a message.
var (
	errElements = errs.New(errs.Invalid, "too_many_elements", "a message has at most 65,536 fields and elements; send it in parts")
	errDepth    = errs.New(errs.Invalid, "bad_json", "JSON is nested at most 32 deep")
	errKeys     = errs.New(errs.Invalid, "bad_json", "an object has at most 1,000 keys, and a list that is not part of the API 1,000 elements")
	// ErrMalformed is returned for bytes that are not a protobuf message of the API: decoding them would fail too, or they are nested more
	// than 32 deep, or have groups, which no message of the API has.
	ErrMalformed = errors.New("this is not a protobuf message")
)

// Repeated is the limit of one repeated field.
type Repeated struct {
	Most int
	// Err rejects more elements.
	Err error
}

// Schema describes a message type, and the limits of its repeated fields.
type Schema struct {
	fields   [maxNumber]*field
	names    map[string]*field // by the names of JSON, and of protobuf
	freeForm bool              // its JSON has any form: google.protobuf.Struct, Value, ListValue
}

// maxNumber bounds the field numbers that a Schema supports, and maxName the names of fields and values that it knows with escapes; a test checks the API
// against them.
const (
	maxNumber = 64
	maxName   = 64
)

type field struct {
	repeated int // its index among the type's repeated fields, -1 for a singular one
	width    int // of a packed element: 4, 8, 0 for varints, -1 if not packed
	most     int // elements
	err      error
	message  *Schema                     // nil for scalars
	captured int                         // its number in captured, from 1 on; 0: it is none of them
	enum     protoreflect.EnumDescriptor // of a singular enum field
}

// For creates the schema of a message type, with the limits of the API (api.go).
func For(m proto.Message) *Schema {
	s, err := build(m.ProtoReflect().Descriptor(), map[protoreflect.FullName]*Schema{})
	if err != nil {
		panic(err) // a test creates the schema of each request
	}
	return s
}

func build(of protoreflect.MessageDescriptor, known map[protoreflect.FullName]*Schema) (*Schema, error) {
	if s, ok := known[of.FullName()]; ok {
		return s, nil
	}
	s := &Schema{names: map[string]*field{}}
	known[of.FullName()] = s
	switch of.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		s.freeForm = true
	}
	repeated := 0
	for i := range of.Fields().Len() {
		d := of.Fields().Get(i)
		f := &field{repeated: -1, width: -1, captured: 1 + slices.Index(captured[:], d.FullName())}
		if d.IsList() || d.IsMap() {
			f.repeated, f.most, f.err = repeated, MaxKeys, errKeys
			repeated++
			if l, ok := limits[d.FullName()]; ok {
				f.most, f.err = l.Most, l.Err
			}
			switch d.Kind() {
			case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
				f.width = 4
			case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
				f.width = 8
			case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
			default:
				f.width = 0
			}
		}
		if d.Enum() != nil && d.Cardinality() != protoreflect.Repeated {
			f.enum = d.Enum()
		}
		if m := d.Message(); m != nil {
			var err error
			if f.message, err = build(m, known); err != nil {
				return nil, err
			}
		}
		if d.Number() >= maxNumber || repeated > maxRepeated || longestName(d) > maxName {
			return nil, fmt.Errorf("inputlimit: %s has a number from %d on, a name of more than %d bytes, or more than %d repeated fields are in its message", d.FullName(), maxNumber, maxName, maxRepeated)
		}
		s.fields[d.Number()] = f
		s.names[d.JSONName()], s.names[d.TextName()] = f, f
	}
	return s, nil
}

// longestName returns the length of the longest name that JSON may have for a field, or for one of its values.
func longestName(d protoreflect.FieldDescriptor) int {
	n := max(len(d.JSONName()), len(d.TextName()))
	if d.Enum() != nil {
		for i := range d.Enum().Values().Len() {
			n = max(n, len(d.Enum().Values().Get(i).Name()))
		}
	}
	return n
}
