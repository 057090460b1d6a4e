package inputlimit

import "encoding/binary"

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Proto counts over the bytes of a message before they are decoded.
func (s *Schema) Proto(b []byte) error {
	_, err := s.Count(b)
	return err
}

// Count is Proto, and returns the number of fields and list elements.
func (s *Schema) Count(b []byte) (elements int, err error) {
	remaining := MaxFields
	if err := s.proto(b, &remaining, MaxDepth); err != nil {
		return 0, err
	}
	return MaxFields - remaining, nil
}

// proto counts one message; remaining is how many more fields and elements there may be.
func (s *Schema) proto(b []byte, remaining *int, depth int) error {
	if depth == 0 {
		return ErrMalformed
	}
	var counts [maxRepeated]int
	for len(b) > 0 {
		if *remaining--; *remaining < 0 {
			return errElements
		}
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag < 1<<3 || tag > 1<<32-1 {
			return ErrMalformed
		}
		b = b[n:]
		var f *field
		if number := tag >> 3; number < maxNumber {
			f = s.fields[number]
		}
		switch wire := tag & 7; wire {
		case wireVarint:
			if _, n = binary.Uvarint(b); n <= 0 {
				return ErrMalformed
			}
			b = b[n:]
		case wireFixed64, wireFixed32:
			n = 8
			if wire == wireFixed32 {
				n = 4
			}
			if len(b) < n {
				return ErrMalformed
			}
			b = b[n:]
		case wireBytes:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return ErrMalformed
			}
			v := b[n : n+int(size)]
			b = b[n+int(size):]
			if f == nil {
				continue
			}
			if f.width >= 0 { // packed
				more := f.packed(v)
				if counts[f.repeated] += more; counts[f.repeated] > f.most {
					return f.err
				}
				if *remaining -= more; *remaining < 0 {
					return errElements
				}
				continue
			}
			if f.message != nil {
				if err := f.message.proto(v, remaining, depth-1); err != nil {
					return err
				}
			}
		default:
			return ErrMalformed
		}
		if f != nil && f.repeated >= 0 {
			if counts[f.repeated]++; counts[f.repeated] > f.most {
				return f.err
			}
		}
	}
	return nil
}

// packed counts the elements of a packed list.
func (f *field) packed(v []byte) int {
	if f.width > 0 {
		return len(v) / f.width
	}
	n := 0
	for _, c := range v {
		if c < 0x80 {
			if n++; n > f.most {
				break
			}
		}
	}
	return n
}
