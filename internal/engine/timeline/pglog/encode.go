package pglog

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Types of PostgreSQL, by number.
const (
	typeBool  = 16
	typeBytes = 17
	typeInt8  = 20
	typeInt2  = 21
	typeUUID  = 2950
)

// arrayHead is the size of what array writes before the values.
const arrayHead = 20

// array begins a binary PostgreSQL array with n values of a type. Values may be null.
func array(b []byte, of uint32, n int) []byte {
	b = b[:0]
	if n == 0 {
		return append(append(b, 0, 0, 0, 0, 0, 0, 0, 0), byte(of>>24), byte(of>>16), byte(of>>8), byte(of))
	}
	b = binary.BigEndian.AppendUint32(b, 1) // dimensions
	b = binary.BigEndian.AppendUint32(b, 1) // whether there may be nulls
	b = binary.BigEndian.AppendUint32(b, of)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return binary.BigEndian.AppendUint32(b, 1) // the first index
}

// newArray begins an array of n values that have so many bytes in all.
func newArray(of uint32, n, bytes int) []byte {
	return array(make([]byte, 0, arrayHead+4*n+bytes), of, n)
}

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

func appendInt8(b []byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), v)
}

func appendInt2(b []byte, v uint16) []byte { return append(b, 0, 0, 0, 2, byte(v>>8), byte(v)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0, 0, 0, 1, 1)
	}
	return append(b, 0, 0, 0, 1, 0)
}

func appendBytes(b, v []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

func int8Value(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// arguments of the statement that appends, reused from batch to batch.
type arguments [13][]byte

func (p *arguments) fill(sent []*timeline.AppendRequest) {
	for i, of := range [len(p)]uint32{typeInt8, typeInt2, typeInt2, typeBytes, typeInt8, typeInt8, typeInt8, typeUUID, typeInt8, typeBool, typeInt8, typeBool, typeBool} {
		if cap(p[i]) > 8<<20 {
			p[i] = nil
		}
		p[i] = array(p[i], of, len(sent))
	}
	for _, a := range sent {
		p[0] = appendInt8(p[0], uint64(rowID(a.Key)))
		p[1] = appendInt2(p[1], a.Key.Shard())
		p[2] = appendInt2(p[2], a.Key.Partition())
		p[3] = appendBytes(p[3], a.Payload)
		p[4], p[5] = appendInt8(p[4], a.Token.Sender), appendInt8(p[5], a.Token.Device)
		switch {
		case a.Token.IsZero():
			p[6], p[7] = appendNull(p[6]), appendNull(p[7])
		case a.Token.Counter != 0:
			p[6], p[7] = appendInt8(p[6], a.Token.Counter), appendNull(p[7])
		default:
			p[6], p[7] = appendNull(p[6]), appendBytes(p[7], a.Token.Sum[:])
		}
		p[8] = appendInt8(p[8], a.Author)
		p[9] = appendBool(p[9], a.Counts)
		if a.CheckAccess {
			p[10] = appendInt8(p[10], uint64(toBigint(a.ExpectedAccess))) // callers may pass invalid versions
		} else {
			p[10] = appendNull(p[10])
		}
		p[11], p[12] = appendBool(p[11], a.SetAccess), appendBool(p[12], a.NeedsFanout)
	}
}

// appendNumbers makes an array of numbers.
func appendNumbers[T uint16 | uint64 | int64](b []byte, of uint32, values []T) []byte {
	b = array(b, of, len(values))
	for _, v := range values {
		if of == typeInt2 {
			b = appendInt2(b, uint16(v))
		} else {
			b = appendInt8(b, uint64(v))
		}
	}
	return b
}

// numbers decodes an array of BIGINT without nulls. It returns nil for other values.
func numbers(b []byte) []uint64 {
	const each = 12
	if len(b) < arrayHead || binary.BigEndian.Uint32(b) != 1 || binary.BigEndian.Uint32(b[8:]) != typeInt8 {
		return nil
	}
	n := uint64(binary.BigEndian.Uint32(b[12:]))
	if b = b[arrayHead:]; uint64(len(b)) != n*each {
		return nil
	}
	all := make([]uint64, 0, n)
	for ; len(b) > 0; b = b[each:] {
		if binary.BigEndian.Uint32(b) != 8 {
			return nil
		}
		all = append(all, be(b[4:]))
	}
	return all
}
