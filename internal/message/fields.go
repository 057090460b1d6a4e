package message

import "encoding/binary"

// Fields reads a form of uvarints and byte strings from its beginning. Behind what is missing or wrong all is zero, and Bad.
type Fields struct {
	left []byte
	bad  bool
}

// FieldsOf reads b.
func FieldsOf(b []byte) Fields { return Fields{left: b} }

// Uvarint reads a number.
func (f *Fields) Uvarint() uint64 {
	v, n := binary.Uvarint(f.left)
	if n <= 0 {
		f.left, f.bad = nil, true
		return 0
	}
	f.left = f.left[n:]
	return v
}

// Bytes reads bytes behind their length. They alias the form.
func (f *Fields) Bytes() []byte {
	size := f.Uvarint()
	if size > uint64(len(f.left)) {
		f.left, f.bad = nil, true
	}
	if f.bad {
		return nil
	}
	b := f.left[:size:size]
	f.left = f.left[size:]
	return b
}

// Left are the bytes that are not read yet.
func (f *Fields) Left() []byte { return f.left }

// Bad tells whether anything read was not there.
func (f *Fields) Bad() bool { return f.bad }
