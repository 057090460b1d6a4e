package gateway

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// WebSocket (RFC 6455) framing.
const (
	finalBit    = 0x80
	packedBit   = 0x40
	maskBit     = 0x80
	opContinued = 0
	opText      = 1
	opBinary    = 2
	opClose     = 8
	opPing      = 9
	opPong      = 10
)

func appendHeader(b []byte, op byte, n int, packed bool) []byte {
	op |= finalBit
	if packed {
		op |= packedBit
	}
	switch {
	case n < 126:
		return append(b, op, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, op, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(b, op, 127), uint64(n))
}

// inFrame is a frame from a client; payload is unmasked, in place.
type inFrame struct {
	op            byte
	final, packed bool
	payload       []byte
}

var (
	errFraming  = errors.New("the WebSocket framing is broken")
	errTooLarge = errors.New("a message is larger than 1 MiB, or in more than 64 parts")
	errFlood    = errors.New("more than 1,000 frames a second that carry nothing")
)

// parse takes one frame off b. ok is false when b does not hold a whole one yet; need is then how many bytes it takes in
// all, 0 when not known.
func (f *inFrame) parse(b []byte, deflate bool) (rest []byte, ok bool, need int, err error) {
	if len(b) < 2 {
		return b, false, 0, nil
	}
	f.op, f.final, f.packed = b[0]&15, b[0]&finalBit != 0, b[0]&packedBit != 0
	if b[0]&0x30 != 0 || f.packed && !deflate || b[1]&maskBit == 0 {
		return nil, false, 0, errFraming
	}
	n, at := uint64(b[1]&0x7f), 2
	switch n {
	case 126:
		if len(b) < 4 {
			return b, false, 0, nil
		}
		n, at = uint64(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		if len(b) < 10 {
			return b, false, 0, nil
		}
		n, at = binary.BigEndian.Uint64(b[2:]), 10
	}
	if f.op >= 8 && (n > 125 || !f.final || f.packed) || f.op > opBinary && f.op < opClose || f.op > opPong || f.op == opContinued && f.packed {
		return nil, false, 0, errFraming
	}
	if n > maxFrame {
		return nil, false, 0, errTooLarge
	}
	end := at + 4 + int(n)
	if len(b) < end {
		return b, false, end, nil
	}
	f.payload = b[at+4 : end : end]
	unmask(f.payload, b[at:at+4])
	return b[end:], true, 0, nil
}

func unmask(b, mask []byte) {
	m := uint64(binary.LittleEndian.Uint32(mask))
	if m == 0 {
		return
	}
	m |= m << 32
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], binary.LittleEndian.Uint64(b[i:])^m)
	}
	for ; i < len(b); i++ {
		b[i] ^= mask[i&3]
	}
}

// deflateFrom so many bytes a frame is worth compressing, where the client takes it.
const deflateFrom = 1 << 10

type deflater struct {
	w   *flate.Writer
	out bytes.Buffer
}

var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	d.w, _ = flate.NewWriter(&d.out, flate.BestSpeed) // fails for a bad level only
	return d
}}

// deflate compresses one message (RFC 7692, without context); ok is false when it would not be shorter.
func deflate(p []byte) (packed []byte, ok bool) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out.Reset()
	d.w.Reset(&d.out)
	if _, err := d.w.Write(p); err != nil {
		return nil, false
	}
	if err := d.w.Flush(); err != nil {
		return nil, false
	}
	b := bytes.TrimSuffix(d.out.Bytes(), deflateTail[:4])
	if len(b) >= len(p) {
		return nil, false
	}
	return bytes.Clone(b), true
}

// deflateTail is what RFC 7692 leaves off a message, and an empty final block, so that a reader sees an end.
var deflateTail = []byte{0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func inflate(p []byte) ([]byte, error) {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(io.MultiReader(bytes.NewReader(p), bytes.NewReader(deflateTail)), nil); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, maxFrame+1))
	if err != nil {
		return nil, errFraming
	}
	if n > maxFrame {
		return nil, errTooLarge
	}
	return out.Bytes(), nil
}
