package inputlimit

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// container is an object or a list that is open.
type container struct {
	schema *Schema // of an object, or of a list's elements; nil if unknown
	count  int     // keys or elements so far
	most   int
	err    error // returned above most
	list   bool
	// captured is the number of the field whose value this is, if it is captured; start is where it starts, and before how many elements precede it.
	captured, start, before int
}

// Captured are the objects of a frame that are decoded on their own, as they were sent; nil if absent.
type Captured struct {
	// Body of a call.
	Body []byte
	// Auth of the first frame.
	Auth []byte
	// Elements are the fields and list elements of the whole frame, BodyElements those of Body: decoding costs by them, more than by bytes.
	Elements, BodyElements int
}

func (c *Captured) set(number int, value []byte, elements int) error {
	field := [...]*[]byte{&c.Body, &c.Auth}[number-1]
	if *field != nil {
		return errTwice
	}
	if *field = value; field == &c.Body {
		c.BodyElements = elements
	}
	return nil
}

// WithoutBody returns the frame with an empty object in place of the body of its call. It allocates, if there is a body.
func (c *Captured) WithoutBody(frame []byte) []byte {
	if c.Body == nil {
		return frame
	}
	start := cap(frame) - cap(c.Body)
	out := make([]byte, 0, len(frame)-len(c.Body)+len("{}"))
	out = append(append(out, frame[:start]...), "{}"...)
	return append(out, frame[start+len(c.Body):]...)
}

// JSON counts over the bytes of a message in JSON. It does not check that they are valid JSON: up to the first error, it counts
// what a decoder sees. It also rejects unknown names of enum values: a decoder that ignores unknown fields takes them for 0.
func (s *Schema) JSON(b []byte) error {
	_, err := s.Capture(b)
	return err
}

// Capture is JSON, and returns the objects that are decoded on their own. They are parts of b.
func (s *Schema) Capture(b []byte) (Captured, error) {
	var values Captured
	left, err := s.capture(b, &values)
	if err != nil {
		return Captured{}, err
	}
	values.Elements = MaxFields - left
	return values, nil
}

// capture also returns how many more elements there may be.
func (s *Schema) capture(b []byte, values *Captured) (left int, err error) {
	var open [MaxDepth + 1]container
	depth := 0
	left = MaxFields
	open[0] = container{schema: s, most: 1, err: errKeys, list: true} // contains the message
	var key *field                                                    // of the next value
	for i := 0; i < len(b); i++ {
		at := &open[depth]
		switch b[i] {
		case '"':
			end := stringEnd(b[i+1:])
			if end < 0 {
				return left, nil // an unterminated string
			}
			text := b[i+1 : i+1+end]
			i += end + 1
			if !at.list && nextIs(b[i+1:], ':') {
				key = at.schema.lookup(text)
			} else if !at.list && key != nil && key.enum != nil {
				if err := checkEnum(key.enum, text); err != nil {
					return 0, err
				}
			}
		case ',':
			key = nil
			if at.count++; at.count >= at.most && depth > 0 {
				return 0, at.err
			}
			if left--; left < 0 {
				return 0, errElements
			}
		case '{', '[':
			if depth == MaxDepth {
				return 0, errDepth
			}
			if left--; left < 0 {
				return 0, errElements
			}
			inner := at.child(key, b[i] == '[')
			if key != nil && b[i] == '{' {
				inner.captured, inner.start, inner.before = key.captured, i, MaxFields-left
			}
			key = nil
			depth++
			open[depth] = inner
		case '}', ']':
			if depth == 0 {
				return left, nil // a closing bracket without an opening one
			}
			if at.captured > 0 {
				if err := values.set(at.captured, b[at.start:i+1], MaxFields-left-at.before); err != nil {
					return 0, err
				}
			}
			depth--
			key = nil
		}
	}
	return left, nil
}

// child returns the container that starts as the value of a key, or as an element of a list.
func (c *container) child(key *field, list bool) container {
	in := container{most: MaxKeys, err: errKeys, list: list}
	switch {
	case c.list && !list:
		in.schema = c.schema
	case c.list: // a list in a list
	case key == nil:
	case list && key.repeated >= 0:
		in.schema, in.most, in.err = key.message, key.most, key.err
	case !list:
		in.schema = key.message
	}
	if in.schema != nil && in.schema.freeForm {
		in.schema = nil
	}
	return in
}

// checkEnum fails for a name that is none of an enum's values. A decoder that ignores unknown fields would leave the field at 0, and the
// caller would believe that the value was set.
func checkEnum(enum protoreflect.EnumDescriptor, text []byte) error {
	var scratch [maxName]byte
	name, fine := unescape(scratch[:0], text)
	if fine && enum.Values().ByName(protoreflect.Name(name)) != nil {
		return nil
	}
	if !fine {
		name = text
	}
	known := make([]string, enum.Values().Len())
	for i := range known {
		known[i] = string(enum.Values().Get(i).Name())
	}
	return errs.New(errs.Invalid, "bad_json", Brief(strconv.Quote(string(name)))+" is no "+string(enum.Name())+"; give one of "+strings.Join(known, ", "))
}

// lookup returns the field for a key, or nil if it is unknown.
func (s *Schema) lookup(key []byte) *field {
	if s == nil {
		return nil
	}
	var scratch [maxName]byte
	name, ok := unescape(scratch[:0], key)
	if !ok {
		return nil
	}
	return s.names[string(name)]
}

// unescape returns the name that a string of JSON without its quotation marks means, in scratch if it has escapes. It fails for what is the name of no
// field and of no value: one that has other characters than those of ASCII as escapes, or more than maxName. It does not allocate: a frame may have tens
// of thousands of names.
func unescape(scratch, text []byte) (name []byte, ok bool) {
	if bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	for len(text) > 0 {
		c := text[0]
		text = text[1:]
		if c == '\\' {
			if len(text) < 5 || text[0] != 'u' || text[1] != '0' || text[2] != '0' {
				return nil, false
			}
			var one [1]byte
			if _, err := hex.Decode(one[:], text[3:5]); err != nil {
				return nil, false
			}
			c, text = one[0], text[5:]
		}
		if c >= 0x80 || len(scratch) == maxName {
			return nil, false
		}
		scratch = append(scratch, c)
	}
	return scratch, true
}

// stringEnd returns the index of the closing quotation mark of a string, or -1.
func stringEnd(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// nextIs reports whether the next byte that is not white space is c.
func nextIs(b []byte, c byte) bool {
	for _, x := range b {
		switch x {
		case ' ', '\t', '\r', '\n':
		default:
			return x == c
		}
	}
	return false
}

// Brief shortens the text of an error, which may contain a megabyte of the request.
func Brief(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd") // an error's detail is protobuf, which needs valid UTF-8
}
