package message

import "encoding/binary"

// Fields reads numbers and byte strings in order. After a missing or invalid field all reads return zero, and Bad is true.
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

// Count reads a number of elements that follow, each of which has at least a byte. A number that cannot be right is a field that is invalid.
func (f *Fields) Count() uint64 {
	n := f.Uvarint()
	if n > uint64(len(f.rest)) {
		f.rest, f.bad = nil, true
		return 0
	}
	return n
}

// Byte reads one byte.
func (f *Fields) Byte() byte {
	if b := f.fixed(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint64 reads a number of eight bytes, the highest first.
func (f *Fields) Uint64() uint64 {
	if b := f.fixed(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// fixed reads a number of bytes; nil if there are fewer.
func (f *Fields) fixed(size int) []byte {
	if len(f.rest) < size {
		f.rest, f.bad = nil, true
		return nil
	}
	b := f.rest[:size]
	f.rest = f.rest[size:]
	return b
}

// Bytes reads bytes with their length. They alias the input.
func (f *Fields) Bytes() []byte {
	size := f.Count()
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
