package message

import "encoding/binary"

// Fields reads uvarints and byte strings in order. After a missing or invalid field all reads return zero, and Bad is true.
type Fields struct {
	rest []byte
	bad  bool
}

// FieldsOf reads b.
func FieldsOf(b []byte) Fields { return Fields{rest: b} }

// Uvarint reads a number.
func (f *Fields) Uvarint() uint64 {
	v, n := binary.Uvarint(f.rest)
	if n <= 0 {
		f.rest, f.bad = nil, true
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

// Bytes reads bytes with their length. They alias the input.
func (f *Fields) Bytes() []byte {
	size := f.Uvarint()
	if size > uint64(len(f.rest)) {
		f.rest, f.bad = nil, true
	}
	if f.bad {
		return nil
	}
	b := f.rest[:size:size]
	f.rest = f.rest[size:]
	return b
}

// Rest returns the bytes that are not read yet.
func (f *Fields) Rest() []byte { return f.rest }

// Bad reports whether a field was missing or invalid.
func (f *Fields) Bad() bool { return f.bad }
