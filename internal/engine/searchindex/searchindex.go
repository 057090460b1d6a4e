// Package searchindex is the port for full-text indexes. It owns how text is analysed (analyze.go) and matched (match.go), so that all engines, the
// highlights and the tests agree on what a query finds.
//
// An index is derived: it is rebuilt from the stores if it is lost. Every implementation guarantees the following, and package searchindextest checks it:
//
//   - Apply stores a batch and its checkpoints in one act: after a crash the index has both or neither.
//   - Search finds what was applied before, at least every document that Match accepts, unless a filter excludes it. It may return others: the caller
//     compares each hit with what its reader may read now.
//   - The order of hits depends on the documents that the filters admit, and on no statistics of others.
//   - What a search finds, and whether it fails, depends on no words of documents that the filters exclude. How long it takes may: times are not hidden.
//   - Search ends with an error soon after its context does, and its work is bounded by the size of the index.
//
// All methods are safe for concurrent use.
package searchindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
)

// Kind of a document.
type Kind byte

// Kinds of documents.
const (
	User         Kind = 'u'
	Conversation Kind = 'c'
	Message      Kind = 'm'
	Post         Kind = 'p'
	Video        Kind = 'v'
	File         Kind = 'f'
)

// ID names a document: a number within a kind and, for messages, a conversation. Parent is 0 for other kinds.
type ID struct {
	Kind           Kind
	Parent, Number uint64
}

// idLen is the length of an encoded ID.
const idLen = 17

// Append appends the stored form: it sorts as the numbers do.
func (i ID) Append(b []byte) []byte {
	b = append(b, byte(i.Kind))
	b = binary.BigEndian.AppendUint64(b, i.Parent)
	return binary.BigEndian.AppendUint64(b, i.Number)
}

// DecodeID reads the stored form.
func DecodeID(b []byte) (ID, bool) {
	if len(b) != idLen {
		return ID{}, false
	}
	return ID{Kind(b[0]), binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])}, true
}

// Compare orders ids: within a kind and parent, the newest first.
func (i ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(i.Kind, other.Kind), cmp.Compare(other.Parent, i.Parent), cmp.Compare(other.Number, i.Number))
}

// Document is what a search finds.
type Document struct {
	ID ID
	// Kinds as which it is found; empty: the kind of its ID.
	Kinds []Kind
	Text  string
	// Names are the ranges of the text that are names of files, in their order.
	Names  []Range
	Author uint64 // 0: none
	// Access has who may find it: a query finds a document that has one of the query's access terms.
	Access []string
	Link   bool // the document has a link
	// Labels of the document, such as the types of its files.
	Labels []string
	TimeMs int64
	// Popularity is a count, such as of likes.
	Popularity uint64
}

// Batch is what Apply stores. A document that exists is replaced. Checkpoints are positions of sources, by name.
type Batch struct {
	Put         []Document
	Delete      []ID
	Checkpoints map[string]uint64
}

// Span is a range of numbers, both inclusive.
type Span struct{ From, To uint64 }

// Ranking weighs the parts of a score.
type Ranking struct {
	// NowMs is the time from which ages count.
	NowMs int64
	// RecencyWeight, 0 to 1, is how much of a score is lost with age; after HalfLifeMs half of that is.
	RecencyWeight float64
	HalfLifeMs    int64
	// PopularityWeight is how much each doubling of the popularity adds.
	PopularityWeight float64
}

// Score is the product of its parts.
type Score struct{ Total, Text, Recency, Popularity float64 }

// Cursor is the last hit of a page.
type Cursor struct {
	Total float64
	ID    ID
}

// Query finds documents of a kind. All filters must admit a document.
type Query struct {
	Kind Kind
	// Terms must all match. Without terms, all documents match.
	Terms []Term
	// Access terms, of which a document has at least one. If it is empty, nothing is found.
	Access []string
	// Spans of parents: of a parent in Spans, only numbers within are found.
	Spans map[uint64]Span
	// Authors, of whom one wrote the document; empty: anybody, except ExceptAuthors.
	Authors, ExceptAuthors []uint64
	// The time is at least AfterMs and below BeforeMs; 0: no bound.
	AfterMs, BeforeMs int64
	Link              bool // only documents with a link
	// Labels, of which a document has at least one; empty: any document.
	Labels  []string
	Ranking Ranking
	// After is the last hit of the page before; nil: the first page.
	After *Cursor
	Limit int
}

// Hit is a document that was found.
type Hit struct {
	ID    ID
	Score Score
}

// Result is a page of hits, the best first; of equal ones, the newest.
type Result struct {
	Hits []Hit
	// More: there are further hits.
	More bool
}

// ErrCorrupt wraps the errors of an index that has to be rebuilt.
var ErrCorrupt = errors.New("searchindex: the index is damaged")

// Index stores documents and finds them by their words.
type Index interface {
	// Apply stores a batch durably. It may be repeated.
	Apply(ctx context.Context, b *Batch) error
	Search(ctx context.Context, q *Query) (Result, error)
	// Checkpoints returns the positions of sources, in the order of their names; 0 for those that have none.
	Checkpoints(ctx context.Context, names []string) ([]uint64, error)
	// Close waits for an Apply in progress.
	Close() error
}
