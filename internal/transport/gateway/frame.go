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
	finalBit      = 0x80
	compressedBit = 0x40
	maskBit       = 0x80
	opContinued   = 0
	opText        = 1
	opBinary      = 2
	opClose       = 8
	opPing        = 9
	opPong        = 10
)

func appendHeader(b []byte, op byte, n int, compressed bool) []byte {
	op |= finalBit
	if compressed {
		op |= compressedBit
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
	op                byte
	final, compressed bool
	payload           []byte
	maxMessage        int // bytes of the message that it is of
}

var (
	errFraming  = errors.New("the WebSocket framing is broken")
	errTooLarge = errors.New("a message is larger than 1 MiB, or in more than 64 parts")
	errFirst    = errors.New("before authentication a message has at most 16 KiB, in at most 64 parts")
	errFlood    = errors.New("more than 1,000 empty frames a second")

	errUnauthenticatedFlood = errors.New("too many pings before authentication come from this address; send an auth frame first")
)

// parse parses one frame at the start of b. ok is false if b does not have a complete one yet; need is then its total number of bytes, 0 if
// unknown.
func (f *inFrame) parse(b []byte, deflate bool) (rest []byte, ok bool, need int, err error) {
	if len(b) < 2 {
		return b, false, 0, nil
	}
	f.op, f.final, f.compressed = b[0]&15, b[0]&finalBit != 0, b[0]&compressedBit != 0
	if b[0]&0x30 != 0 || f.compressed && !deflate || b[1]&maskBit == 0 {
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
	if f.op >= 8 && (n > 125 || !f.final || f.compressed) || f.op > opBinary && f.op < opClose || f.op > opPong || f.op == opContinued && f.compressed {
		return nil, false, 0, errFraming
	}
	if n > uint64(f.maxMessage) {
		return nil, false, 0, tooLarge(f.maxMessage)
	}
	end := at + 4 + int(n)
	if len(b) < end {
		return b, false, end, nil
	}
	f.payload = b[at+4 : end : end]
	unmask(f.payload, b[at:at+4])
	return b[end:], true, 0, nil
}

// tooLarge is the error of a message with more bytes than the most.
func tooLarge(most int) error {
	if most < maxFrame {
		return errFirst
	}
	return errTooLarge
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

// deflateFrom is the size in bytes from which frames are compressed, if the client accepts that.
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

// appendDeflated compresses one message (RFC 7692, without context) and appends it as a frame; ok is false if it would not be shorter.
func appendDeflated(b []byte, op byte, p []byte) (_ []byte, ok bool) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out.Reset()
	d.w.Reset(&d.out)
	if _, err := d.w.Write(p); err != nil {
		return b, false
	}
	if err := d.w.Flush(); err != nil {
		return b, false
	}
	compressed := bytes.TrimSuffix(d.out.Bytes(), deflateTail[:4])
	if len(compressed) >= len(p) {
		return b, false
	}
	return append(appendHeader(b, op, len(compressed), true), compressed...), true
}

// deflateFrames compresses those of some whole frames of the server that are worth it, and frees the buffer if it returns another one.
func deflateFrames(in *buffer) *buffer {
	var out *buffer
	for at := 0; at < len(in.b); {
		op, header, n := in.b[at]&15, 2, int(in.b[at+1])
		switch n {
		case 126:
			header, n = 4, int(binary.BigEndian.Uint16(in.b[at+2:]))
		case 127:
			header, n = 10, int(binary.BigEndian.Uint64(in.b[at+2:]))
		}
		end, compressed := at+header+n, false
		if n >= deflateFrom {
			if out == nil {
				out = buffers.Get().(*buffer)
				out.b = append(out.b, in.b[:at]...)
			}
			out.b, compressed = appendDeflated(out.b, op, in.b[at+header:end])
		}
		if out != nil && !compressed {
			out.b = append(out.b, in.b[at:end]...)
		}
		at = end
	}
	if out == nil {
		return in
	}
	in.free()
	return out
}

// deflateTail is what RFC 7692 leaves off a message, and an empty final block, so that a reader sees an end.
var deflateTail = []byte{0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflated has the buffers of inflated messages. Without them, a flood of small frames that inflate to much makes as much garbage.
var inflated = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// inflate appends an inflated message to an empty buffer.
func inflate(out *bytes.Buffer, p []byte) error {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(io.MultiReader(bytes.NewReader(p), bytes.NewReader(deflateTail)), nil); err != nil {
		return err
	}
	n, err := out.ReadFrom(io.LimitReader(r, maxFrame+1))
	if err != nil {
		return errFraming
	}
	if n > maxFrame {
		return errTooLarge
	}
	return nil
}
