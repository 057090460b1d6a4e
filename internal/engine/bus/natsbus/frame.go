package natsbus

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// The first byte of a frame. A later version may add kinds; a node counts a message of an unknown kind as a gap.
const (
	kindMessage  byte = 1  // then a series, a number, data
	kindTally    byte = 2  // then a series and the number of its last message
	kindRequest  byte = 16 // then data
	kindAnswer   byte = 17 // then data
	kindBusy     byte = 18
	kindTooLarge byte = 19
)

// headSize is the maximum size of a header.
const headSize = 1 + 8 + 8

// largest is the maximum size of a frame.
const largest = headSize + bus.MaxData

// frame is a message or a tally.
type frame struct {
	kind   byte
	series uint64 // chosen at random by its publisher, for one subject
	number uint64 // counts from 1
	data   []byte // aliases the bytes that it was read from
}

func (f frame) append(b []byte) []byte {
	b = append(b, f.kind)
	b = binary.BigEndian.AppendUint64(b, f.series)
	b = binary.BigEndian.AppendUint64(b, f.number)
	return append(b, f.data...)
}

func parse(b []byte) (f frame, ok bool) {
	if len(b) < headSize {
		return frame{}, false
	}
	f = frame{kind: b[0], series: binary.BigEndian.Uint64(b[1:]), number: binary.BigEndian.Uint64(b[9:]), data: b[headSize:]}
	ok = f.number > 0 && (f.kind == kindMessage || f.kind == kindTally && len(f.data) == 0)
	return f, ok
}
