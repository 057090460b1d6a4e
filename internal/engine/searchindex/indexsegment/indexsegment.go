// Package indexsegment is a segment format for Bleve's engine (scorch). A segment has only what the search index needs: document ids, stored fields, doc values of a fixed width, and an inverted index from terms
// to postings. It has no term frequencies, field lengths, positions or scores. docs/formats/searchindex.md has the bytes.
//
// Documents are sorted by id, so ids need no dictionary, and neighbours share prefixes. The documents of a conversation are neighbours, so their postings are few runs. Terms are prefix-compressed in blocks of 16, and
// the postings lists of a block follow its terms. A binary search over the first terms finds a block. An automaton skips blocks: it names the lowest term that can match next, and a search finds its block. For words with a typo, the blocks are not scanned:
// the possible corrections are generated, and a filter in memory tells which of them may be terms (typos.go).
//
// A segment is immutable. The engine keeps deletions beside it, and a merge drops deleted documents. A file is mapped into memory, and each Open verifies its checksum. Everything that is read is validated before it is used: a malicious
// file with a valid checksum causes errors wrapping ErrDamaged, but no panic, and no more memory than a few times its size.
//
// The search index does not use the engine's own queries. Dictionary, which only these need, returns an error.
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

// Field is a field of a document. Its options say whether its terms are indexed (IndexField), its value is stored (StoreField), or its value is a doc value, which has the same width in all documents (DocValues).
type Field interface {
	index.Field
	// Terms returns the terms of the field. It is called after Analyze.
	Terms() []string
}

// ErrorHook is a key of the engine's segment configuration. Its value may be a func(error), which is called with the error of a file that cannot be opened: the engine does not return it.
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
