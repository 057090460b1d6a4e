package indexsegment

import (
	"bytes"
	"encoding/binary"
	"math"
)

// input reads bytes that may be damaged. After the first error, all that it returns is empty.
type input struct {
	rest []byte
	err  error
}

// uvarint reads a number of at most max.
func (in *input) uvarint(max uint64) uint64 {
	if in.err != nil {
		return 0
	}
	if b := in.rest; len(b) > 1 { // the usual cases
		if v := uint64(b[0]); v < 0x80 && v <= max {
			in.rest = b[1:]
			return v
		} else if v = v&0x7f | uint64(b[1])<<7; b[0] >= 0x80 && b[1] < 0x80 && v <= max {
			in.rest = b[2:]
			return v
		}
	}
	v, n := binary.Uvarint(in.rest)
	if n <= 0 || v > max {
		in.err = damaged("a number is not complete, or above %d", max)
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

// bytes reads n bytes, which are part of the input.
func (in *input) bytes(n uint64) []byte {
	if in.err == nil && n > uint64(len(in.rest)) {
		in.err = damaged("%d bytes are missing", n-uint64(len(in.rest)))
	}
	if in.err != nil {
		return nil
	}
	b := in.rest[:n:n]
	in.rest = in.rest[n:]
	return b
}

// length reads the length of what follows.
func (in *input) length() uint64 { return in.uvarint(math.MaxInt32) }

// A key is an id or a term. In a block, it begins with a byte: the upper bit is free for terms, three bits are how many bytes it shares with the key before, and four how many follow. Their highest values say that a
// varint with what exceeds them follows.
const (
	keyMark   = 0x80
	maxShared = 7
	maxSuffix = 15
)

// appendKey appends a key to a block, in which prev is the key before.
func appendKey(to, prev, key []byte, mark bool) []byte {
	shared := 0
	for shared < min(len(prev), len(key)) && prev[shared] == key[shared] {
		shared++
	}
	suffix := len(key) - shared
	head := byte(min(shared, maxShared)<<4 | min(suffix, maxSuffix))
	if mark {
		head |= keyMark
	}
	to = append(to, head)
	if shared >= maxShared {
		to = binary.AppendUvarint(to, uint64(shared-maxShared))
	}
	if suffix >= maxSuffix {
		to = binary.AppendUvarint(to, uint64(suffix-maxSuffix))
	}
	return append(to, key[shared:]...)
}

// keyReader reads the keys of a block in their order.
type keyReader struct {
	input
	key    []byte // valid until the next one is read
	shared int    // how many bytes it shares with the key before
	mark   bool
}

// start begins a block.
func (r *keyReader) start(block []byte) { r.input, r.key = input{rest: block}, r.key[:0] }

// next reads the next key. ok: there was one.
func (r *keyReader) next() (ok bool) {
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	head := r.rest[0]
	r.rest = r.rest[1:]
	shared, suffix := uint64(head>>4&maxShared), uint64(head&maxSuffix)
	if shared < maxShared && suffix < maxSuffix && shared <= uint64(len(r.key)) && suffix <= uint64(len(r.rest)) { // the usual case
		r.key, r.rest = append(r.key[:shared], r.rest[:suffix]...), r.rest[suffix:]
		r.shared, r.mark = int(shared), head&keyMark != 0
		return true
	}
	if shared == maxShared {
		shared += r.length()
	}
	if suffix == maxSuffix {
		suffix += r.length()
	}
	if r.err == nil && shared > uint64(len(r.key)) {
		r.err = damaged("a key shares %d bytes with one of %d", shared, len(r.key))
	}
	more := r.bytes(suffix)
	if r.err != nil {
		return false
	}
	r.key, r.shared, r.mark = append(r.key[:shared], more...), int(shared), head&keyMark != 0
	return true
}

// blocks are parts of a file that follow each other.
type blocks struct {
	data []byte
	ends []byte // where each of them ends, in 8 bytes
}

func (b *blocks) count() int { return len(b.ends) / 8 }

func (b *blocks) block(i int) ([]byte, error) {
	from, to := uint64(0), uint64(0)
	if i < b.count() {
		to = binary.LittleEndian.Uint64(b.ends[8*i:])
	}
	if i > 0 {
		from = binary.LittleEndian.Uint64(b.ends[8*(i-1):])
	}
	if from >= to || to > uint64(len(b.data)) {
		return nil, damaged("block %d of %d is from %d to %d of %d bytes", i, b.count(), from, to, len(b.data))
	}
	return b.data[from:to:to], nil
}

// firstKey returns the first key of a block. It is part of the block.
func firstKey(block []byte) ([]byte, error) {
	if len(block) == 0 || block[0]>>4&maxShared != 0 {
		return nil, damaged("a block does not begin with a key")
	}
	in := input{rest: block[1:]}
	size := uint64(block[0] & maxSuffix)
	if size == maxSuffix {
		size += in.length()
	}
	return in.bytes(size), in.err
}

// isBefore reports whether the first key of a block is below a key. keysOf returns the keys of a block.
func (b *blocks) isBefore(i int, key []byte, keysOf func(block []byte) ([]byte, error)) (bool, error) {
	block, err := b.block(i)
	if err != nil {
		return false, err
	}
	if block, err = keysOf(block); err != nil {
		return false, err
	}
	first, err := firstKey(block)
	return bytes.Compare(first, key) < 0, err
}

// before returns the last block from low on and before high whose first key is below a key, or low.
func (b *blocks) before(key []byte, low, high int, keysOf func(block []byte) ([]byte, error)) (int, error) {
	for high-low > 1 {
		middle := low + (high-low)/2
		is, err := b.isBefore(middle, key, keysOf)
		if err != nil {
			return 0, err
		}
		if is {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// beforeNear is before, of a key that is more likely in one of the first blocks than in a later one.
func (b *blocks) beforeNear(key []byte, low int, keysOf func(block []byte) ([]byte, error)) (int, error) {
	for step := 1; low+step < b.count(); step *= 2 {
		is, err := b.isBefore(low+step, key, keysOf)
		if err != nil {
			return 0, err
		}
		if !is {
			return b.before(key, low, low+step, keysOf)
		}
		low += step
	}
	return b.before(key, low, b.count(), keysOf)
}
