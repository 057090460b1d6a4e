package indexsegment

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// AppendDocuments, ReadDocuments and AddDocuments are for tests of the encodings of postings.
var (
	AppendDocuments = appendDocuments
	ReadDocuments   = readDocuments
	AddDocuments    = addDocuments
)

// The encodings of postings.
const (
	GapEncoding       = gapEncoding
	RunLengthEncoding = runLengthEncoding
	BitmapEncoding    = bitmapEncoding
)

// FromBytes returns a segment in memory of bytes, whose checksum is not compared.
func FromBytes(data []byte) (segment.Segment, error) {
	s, err := parse(data)
	if err != nil {
		return nil, err
	}
	return &memorySegment{s}, nil
}

// MergeBytes merges segments into a segment in memory.
func MergeBytes(segments []segment.Segment, drops []*roaring.Bitmap) (segment.Segment, error) {
	m, err := newMerger(segments, drops, nil)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := m.write(&out); err != nil {
		return nil, err
	}
	if err := checkSum(out.Bytes()); err != nil {
		return nil, err
	}
	return FromBytes(out.Bytes())
}

// Bytes returns what a segment is read from.
func Bytes(s segment.Segment) []byte {
	of, err := Of(s)
	if err != nil {
		panic(err)
	}
	return of.data
}

// Seal gives bytes the checksum of what is before it.
func Seal(data []byte) {
	if end := len(data) - 4; end >= 0 {
		binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[:end], checksums))
	}
}
