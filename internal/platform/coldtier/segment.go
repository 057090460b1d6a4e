package coldtier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A segment is one file: a header, an index, and blocks. docs/formats/segment.md has the layout. The index has the place and the checksum of
// each block, and the length of each entry, so that a page costs one or two blocks.

const (
	segmentMagic   = "RIALTOCS"
	segmentVersion = 1
	headerSize     = 52
	blockInfoSize  = 20 // an encoded blockInfo
	// blockSize is the number of payload bytes after which a block is full.
	blockSize = 64 << 10
	// maxIndex and maxBlock bound what a damaged header or index can make a reader allocate.
	maxIndex = 8 << 20
	maxBlock = 8 << 20
)

var (
	errSegment = errors.New("the segment is corrupt")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	encoder    = newEncoder()
	decoder    = newDecoder()
)

// newEncoder returns an encoder for EncodeAll, which is safe for concurrent use.
func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
}

// newDecoder returns a decoder for DecodeAll, which is safe for concurrent use.
func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}

// blockInfo is the place of a block in a segment.
type blockInfo struct {
	offset   uint32 // from the end of the index
	stored   uint32 // compressed bytes
	size     uint32 // bytes of the payloads
	checksum uint32 // CRC-32C of the compressed bytes
	entries  uint32
}

// index describes a segment without its payloads.
type index struct {
	conversation uint64
	first        uint64 // seq of the first entry; the others follow without a gap
	blocks       []blockInfo
	starts       []uint32 // index of each block's first entry
	counted      []uint64 // of each entry
	lengths      []uint32 // of each entry's payload
	dataStart    int64    // offset of the first block in the file
}

func (x *index) last() uint64 { return x.first + uint64(len(x.lengths)) - 1 }

// encodeSegment returns the file of entries, which are not empty and have no gap.
func encodeSegment(conversation uint64, entries []timeline.Entry) []byte {
	var blocks, data, raw []byte
	var count, blockEntries uint32
	flush := func() {
		stored := encoder.EncodeAll(raw, nil)
		for _, n := range []uint32{uint32(len(data)), uint32(len(stored)), uint32(len(raw)), crc32.Checksum(stored, castagnoli), blockEntries} {
			blocks = binary.LittleEndian.AppendUint32(blocks, n)
		}
		data, raw, blockEntries = append(data, stored...), raw[:0], 0
		count++
	}
	var places []byte
	counted := uint64(0)
	for i := range entries {
		e := &entries[i]
		if blockEntries > 0 && len(raw)+len(e.Payload) > blockSize {
			flush()
		}
		raw = append(raw, e.Payload...)
		blockEntries++
		places = binary.AppendUvarint(places, e.Counted-counted)
		places = binary.AppendUvarint(places, uint64(len(e.Payload)))
		counted = e.Counted
	}
	flush()
	rawIndex := append(blocks, places...)
	stored := encoder.EncodeAll(rawIndex, nil)
	b := append(make([]byte, 0, headerSize+len(stored)+len(data)), segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, segmentVersion)
	b = binary.LittleEndian.AppendUint64(b, conversation)
	b = binary.LittleEndian.AppendUint64(b, entries[0].Seq)
	for _, n := range []uint32{uint32(len(entries)), count, uint32(len(stored)), uint32(len(rawIndex)), crc32.Checksum(stored, castagnoli)} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(append(b, stored...), data...)
}

// readIndex reads and checks the header and the index of a segment.
func readIndex(r io.Reader) (*index, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, shortFile(err)
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(h[at:]) }
	switch {
	case string(h[:8]) != segmentMagic || crc32.Checksum(h[:headerSize-4], castagnoli) != u32(headerSize-4):
		return nil, fmt.Errorf("%w: its header is damaged", errSegment)
	case u32(8) != segmentVersion:
		return nil, fmt.Errorf("the segment has format %d; this release reads format %d", u32(8), segmentVersion)
	}
	x := &index{conversation: binary.LittleEndian.Uint64(h[12:]), first: binary.LittleEndian.Uint64(h[20:])}
	entries, blocks, storedLen, rawLen, sum := u32(28), u32(32), u32(36), u32(40), u32(44)
	if storedLen > maxIndex || rawLen > maxIndex || uint64(blocks)*blockInfoSize > uint64(rawLen) || entries > rawLen || entries == 0 {
		return nil, fmt.Errorf("%w: its header is damaged", errSegment)
	}
	stored := make([]byte, storedLen)
	if _, err := io.ReadFull(r, stored); err != nil {
		return nil, shortFile(err)
	}
	if crc32.Checksum(stored, castagnoli) != sum {
		return nil, fmt.Errorf("%w: the checksum of its index is wrong", errSegment)
	}
	raw, err := decoder.DecodeAll(stored, make([]byte, 0, rawLen))
	if err != nil || len(raw) != int(rawLen) {
		return nil, fmt.Errorf("%w: its index cannot be decompressed", errSegment)
	}
	x.dataStart = headerSize + int64(storedLen)
	if !x.decode(raw, int(blocks), int(entries)) {
		return nil, fmt.Errorf("%w: its index is damaged", errSegment)
	}
	return x, nil
}

// decode reads the decompressed index, and reports whether it is consistent.
func (x *index) decode(raw []byte, blocks, entries int) bool {
	total := uint64(0)
	for i := range blocks {
		u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(raw[i*blockInfoSize+4*at:]) }
		b := blockInfo{u32(0), u32(1), u32(2), u32(3), u32(4)}
		if b.size > maxBlock || b.stored > maxBlock {
			return false
		}
		x.starts = append(x.starts, uint32(min(total, uint64(entries))))
		x.blocks = append(x.blocks, b)
		total += uint64(b.entries)
	}
	if total != uint64(entries) {
		return false
	}
	raw = raw[blocks*blockInfoSize:]
	counted := uint64(0)
	for range entries {
		delta, n := binary.Uvarint(raw)
		if n <= 0 {
			return false
		}
		length, m := binary.Uvarint(raw[n:])
		if m <= 0 || length > maxBlock {
			return false
		}
		raw, counted = raw[n+m:], counted+delta
		x.counted, x.lengths = append(x.counted, counted), append(x.lengths, uint32(length))
	}
	if len(raw) > 0 {
		return false
	}
	for i, b := range x.blocks {
		size := uint64(0)
		for _, n := range x.lengths[x.starts[i] : x.starts[i]+b.entries] {
			size += uint64(n)
		}
		if size != uint64(b.size) {
			return false
		}
	}
	return true
}

// blockOf returns the block that has an entry.
func (x *index) blockOf(seq uint64) int {
	at, lo, hi := uint32(seq-x.first), 0, len(x.starts)-1
	for lo < hi {
		if mid := (lo + hi + 1) / 2; x.starts[mid] <= at {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// readBlock reads and checks the payloads of a block.
func (x *index) readBlock(r io.ReadSeeker, block int) ([]byte, error) {
	b := x.blocks[block]
	if _, err := r.Seek(x.dataStart+int64(b.offset), io.SeekStart); err != nil {
		return nil, err
	}
	stored := make([]byte, b.stored)
	if _, err := io.ReadFull(r, stored); err != nil {
		return nil, shortFile(err)
	}
	if crc32.Checksum(stored, castagnoli) != b.checksum {
		return nil, fmt.Errorf("%w: the checksum of block %d is wrong", errSegment, block)
	}
	raw, err := decoder.DecodeAll(stored, make([]byte, 0, b.size))
	if err != nil || len(raw) != int(b.size) {
		return nil, fmt.Errorf("%w: block %d cannot be decompressed", errSegment, block)
	}
	return raw, nil
}

// entries returns copies of a block's entries from one seq to another, both within the block or beyond its ends.
func (x *index) entries(block int, raw []byte, from, to uint64) (list []timeline.Entry) {
	at := x.starts[block]
	for i := at; i < at+x.blocks[block].entries; i++ {
		n := x.lengths[i]
		if seq := x.first + uint64(i); seq >= from && seq <= to {
			list = append(list, timeline.Entry{Seq: seq, Prev: seq - 1, Counted: x.counted[i], Payload: append([]byte(nil), raw[:n]...)})
		}
		raw = raw[n:]
	}
	return list
}

// shortFile makes an early end of a file a corrupt segment. Other errors stay: the store may be unavailable, or have broken off its answer.
func shortFile(err error) error {
	if of := new(errs.Error); errors.As(err, &of) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file is too short", errSegment)
	}
	return err
}

// readAll reads and checks a whole segment.
func readAll(r io.ReadSeeker) (conversation uint64, list []timeline.Entry, err error) {
	x, err := readIndex(r)
	if err != nil {
		return 0, nil, err
	}
	for b := range x.blocks {
		payload, err := x.readBlock(r, b)
		if err != nil {
			return 0, nil, err
		}
		list = append(list, x.entries(b, payload, x.first, x.last())...)
	}
	return x.conversation, list, nil
}
