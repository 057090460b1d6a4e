// Package indexsegment is a form of segments for the engine of Bleve (scorch), which has what the search index needs and nothing else: ids, stored fields, values of a fixed width, and for each word the
// documents that have it. There are no frequencies, lengths, positions and scores. docs/formats/searchindex.md has the bytes.
//
// Documents are in the order of their ids. So ids need no dictionary, neighbours share most of theirs, and documents that have a word because of their id, as those of a conversation, are few runs. Terms are in blocks of 16, in
// which each has only what distinguishes it from the one before, and the lists of documents follow the terms of their block. A block is found by a binary search of their first terms. An automaton skips whole blocks: it
// says from where on no term can match, and the next block that is read is found by a search as well.
//
// A segment never changes. The engine keeps deletions beside it, and a merge leaves deleted documents out. A file is mapped into memory, and its checksum is compared whenever it is opened. All that is read is checked before it is used, so a file that
// somebody made to do harm, with the right checksum, causes errors wrapping ErrDamaged, and neither a panic nor more memory than some times its size.
//
// The engine needs only a few methods of a segment unless it executes queries of its own, which the search index does not do: the dictionaries that such queries read are refused.
package indexsegment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

const (
	// Type and Version are those of the plug-in, which the engine stores with its list of segments.
	Type    = "rialto"
	Version = 1

	magic = "RIALTOIS"
	// trailerLen is the length of what ends a file: the length of the table before, the magic, and the checksum of all before itself.
	trailerLen = 4 + len(magic) + 4

	idsPerBlock    = 16
	storedPerBlock = 16
	termsPerBlock  = 16
	// maxWidth is the largest width of values, in bytes.
	maxWidth = 255
)

// ErrDamaged is wrapped by the errors of segments whose bytes are not such as this package writes.
var ErrDamaged = errors.New("damaged index segment")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// checksums are CRC-32C.
var checksums = crc32.MakeTable(crc32.Castagnoli)

// dropped is the new number of a document that a merge leaves out.
const dropped = math.MaxUint64

// Field is what a field of a document must have beside the methods of index.Field. The options of a field say what is done with it: its terms are indexed (IndexField), its value is stored (StoreField), or is
// a value of all documents with the same width (DocValues).
type Field interface {
	index.Field
	// Terms returns the terms of the field. They are asked for after Analyze.
	Terms() []string
}

// ErrorHook is the key of the engine's configuration of segments under which there may be a func(error). It is called with why a file was refused, which the engine does not return.
const ErrorHook = "rialto_error_hook"

// Plugin makes, opens and merges segments. It is a scorch.SegmentPlugin.
type Plugin struct{}

// Type returns the type of the segments.
func (Plugin) Type() string { return Type }

// Version returns the version of the segments.
func (Plugin) Version() uint32 { return Version }

// New makes a segment in memory of documents, whose fields must be of the type Field, and returns its size in bytes.
func (Plugin) New(documents []index.Document) (segment.Segment, uint64, error) {
	data, err := build(documents)
	if err != nil {
		return nil, 0, err
	}
	s, err := parse(data)
	if err != nil {
		return nil, 0, err
	}
	return &memorySegment{s}, uint64(len(data)), nil
}

// NewUsing is New.
func (p Plugin) NewUsing(documents []index.Document, _ map[string]any) (segment.Segment, uint64, error) {
	return p.New(documents)
}

// Open opens a file, and compares its checksum.
func (Plugin) Open(path string) (segment.Segment, error) { return openFile(path) }

// OpenUsing is Open, and calls the function under ErrorHook if it fails.
func (p Plugin) OpenUsing(path string, config map[string]any) (segment.Segment, error) {
	s, err := p.Open(path)
	if err != nil {
		if hook, ok := config[ErrorHook].(func(error)); ok {
			hook(err)
		}
		return nil, err
	}
	return s, nil
}

// Merge writes a file with the documents of segments, except those that are dropped. It returns the new number of each document of each segment, and the size of the file in bytes. It ends
// with segment.ErrClosed after closed was closed.
func (Plugin) Merge(segments []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, stats segment.StatsReporter) ([][]uint64, uint64, error) {
	numbers, size, err := mergeFile(segments, drops, path, closed)
	if err == nil && stats != nil {
		stats.ReportBytesWritten(size)
	}
	return numbers, size, err
}

// MergeUsing is Merge.
func (p Plugin) MergeUsing(segments []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, stats segment.StatsReporter, _ map[string]any) ([][]uint64, uint64, error) {
	return p.Merge(segments, drops, path, closed, stats)
}
