// Package searchindex is the port for full-text indexes. It owns how text is analysed (analyze.go) and matched (match.go), so that all engines, the
// highlights and the tests agree on what a query finds.
//
// An index is derived: it is rebuilt from the stores if it is lost. Every implementation guarantees the following, and package searchindextest checks it:
//
//   - Apply stores the checkpoints of a batch atomically with its documents, or after all of them: after a crash no checkpoint is ahead of the documents.
//     A part of a batch may be stored without its checkpoints. The caller then applies the batch again, as the stores are by then.
//   - Search finds every applied document that Match accepts, unless a filter excludes it. It may return others: the caller
//     compares each hit with what its reader may read now.
//   - The order of hits depends only on documents that the filters admit, not on statistics of others.
//   - What a search finds, and whether it fails, does not depend on words of documents that the filters exclude. Its duration may: times are not hidden.
//   - Search ends with an error soon after its context does, and its work is bounded by the size of the index.
//
// All methods are safe for concurrent use.
package searchindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
	Names []Range
	// Words of the text, as a Dictionary divides it; nil: those of the function Words.
	Words  []string
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

// WordsOf returns the words of a document that an index stores.
func WordsOf(d *Document) []string {
	if d.Words != nil {
		return d.Words
	}
	return Words(d.Text, d.Names...)
}

// Batch is what Apply stores. A document that exists is replaced. Checkpoints are positions of sources, by name.
type Batch struct {
	Put         []Document
	Delete      []ID
	Checkpoints map[string]uint64
	// Term of the writer of an index that several processes use (Shared). What a later term has written is not replaced: the batch then fails with a *Superseded,
	// and a part of it may have been applied. An index of one process ignores it.
	Term uint64
}

// Superseded is the error of a writer that has a successor.
type Superseded struct {
	// Term of the successor; 0: it is not known.
	Term uint64
}

func (s *Superseded) Error() string {
	return fmt.Sprintf("searchindex: a writer of a later term (%d, if it is not 0) has taken over", s.Term)
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

// maxPopularity is the highest Quarters.
const maxPopularity = 127

// Quarters is a popularity as indexes store it: how often it doubles from 1, in quarters.
func Quarters(popularity uint64) byte {
	return byte(min(maxPopularity, math.Round(4*math.Log2(1+float64(popularity)))))
}

// Seconds is a time as indexes store it, in seconds since 1970.
func Seconds(timeMs int64) int64 { return max(0, timeMs) / 1000 }

// Score returns the score of a document, of which the terms match as well as text says, from 0 to 1.
func (r *Ranking) Score(text float64, seconds int64, quarters byte) Score {
	score := Score{Text: text, Recency: 1, Popularity: 1 + r.PopularityWeight*float64(quarters)/4}
	if r.HalfLifeMs > 0 {
		age := max(0, float64(r.NowMs-seconds*1000))
		score.Recency = 1 - r.RecencyWeight + r.RecencyWeight*math.Exp2(-age/float64(r.HalfLifeMs))
	}
	score.Total = score.Text * score.Recency * score.Popularity
	return score
}

// Oldest returns a time, in seconds, before which no document without popularity has a score of at least total, however well it matches.
func (r *Ranking) Oldest(total float64) int64 {
	rest := (total - (1 - r.RecencyWeight)) / r.RecencyWeight // what is left of the weight of the recency
	switch {
	case r.HalfLifeMs <= 0 || r.RecencyWeight <= 0 || rest <= 0:
		return 0
	case total > r.Score(1, r.NowMs/1000+1, 0).Total: // even a new document has less; rest may be above 1 by a rounding error only
		return math.MaxInt64
	}
	seconds := (r.NowMs + int64(float64(r.HalfLifeMs)*math.Log2(rest))) / 1000
	if seconds <= 0 || r.Score(1, seconds-1, 0).Total >= total { // by a rounding error
		return 0
	}
	return seconds
}

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

// ErrFormat wraps the errors of an index that has to be rebuilt although it is not damaged: an earlier version of the program made it, or it has the words of another dictionary. It is an ErrCorrupt.
var ErrFormat error = formatError{}

type formatError struct{}

func (formatError) Error() string { return "searchindex: the index has another format" }
func (formatError) Unwrap() error { return ErrCorrupt }

// Index stores documents and finds them by their words.
type Index interface {
	// Apply stores a batch durably. It may be repeated.
	Apply(ctx context.Context, b *Batch) error
	Search(ctx context.Context, q *Query) (Result, error)
	// Missing returns those of some documents that a search does not find as it should: by each of its words, to the limit of MaxTerms, as each of its kinds, for each of its access terms, by its author, at its time in seconds. Their order is that of the list. It costs
	// much less than a search for each.
	Missing(ctx context.Context, list []Document) ([]ID, error)
	// Checkpoints returns the positions of sources, in the order of their names; 0 for those that have none.
	Checkpoints(ctx context.Context, names []string) ([]uint64, error)
	// Close waits for an Apply in progress.
	Close() error
}

// Shared is an index on servers that all nodes of a cluster use. It has generations, by numbers: one answers, and another may be built beside it. One node at a time
// writes, of the highest term so far.
type Shared interface {
	// Place names the servers and the index, so that another index is not taken for this one.
	Place(ctx context.Context) (string, error)
	// Generations returns the numbers of those that there are, ascending, and of the one that answers; 0: none does. It fails with ErrForeign if the name belongs to
	// something else.
	Generations(ctx context.Context) (list []uint64, serving uint64, err error)
	// Serving returns the index by which all nodes search: the generation that answers at the time of a call. Its Apply fails, and its Search and Checkpoints fail with
	// ErrMissing if there is none.
	Serving() Index
	// Open returns a generation for a writer of a term. If it is missing, it is made; it answers then if serving is true. It fails with a *Superseded if there was a
	// writer of a later term.
	Open(ctx context.Context, n, term uint64, serving bool) (Index, error)
	// Serve makes a generation answer in place of all others, and removes those, in one act.
	Serve(ctx context.Context, n uint64) error
	// Remove removes a generation, if it is there.
	Remove(ctx context.Context, n uint64) error
	Close() error
}

// ErrForeign wraps the errors of an index that belongs to another deployment, or to another program.
var ErrForeign = errors.New("searchindex: the index is not of this deployment")

// ErrClosed wraps the errors of calls of an index that was closed.
var ErrClosed = errors.New("the index is closed")

// ErrMissing wraps the errors of an index that is not there.
var ErrMissing = errors.New("searchindex: the index is missing")
