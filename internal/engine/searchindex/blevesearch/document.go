package blevesearch

import (
	"encoding/binary"
	"math/bits"

	index "github.com/blevesearch/bleve_index_api"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// Fields of a document.
const (
	textField       = "t"
	wordsField      = "w"
	denseField      = "d"
	filterField     = "f"
	valueField      = "v"
	checkpointField = "c"
)

// checkpointKind begins the ids of checkpoints. No document has it.
const checkpointKind = 0

func checkpointID(name string) string { return string(rune(checkpointKind)) + name }

// Filter terms begin with the kind of the document, and what they are.
func accessTerm(kind searchindex.Kind, access string) string {
	return string([]byte{byte(kind), 'a'}) + access
}

func authorTerm(kind searchindex.Kind, author uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{byte(kind), 'u'}, author))
}

func linkTerm(kind searchindex.Kind) string { return string([]byte{byte(kind), 'l'}) }

func labelTerm(kind searchindex.Kind, label string) string {
	return string([]byte{byte(kind), 't'}) + label
}

// valueLen is the length of a value: seconds since 1970, in six bytes below 0x80, so that no value begins with 0xff, and the popularity.
const valueLen = 7

// appendValue appends the value of a document.
func appendValue(b []byte, timeMs int64, popularity uint64) []byte {
	seconds := uint64(searchindex.Seconds(timeMs))
	for shift := 7 * (valueLen - 2); shift >= 0; shift -= 7 {
		b = append(b, byte(seconds>>shift)&0x7f)
	}
	return append(b, searchindex.Quarters(popularity))
}

// decodeValue returns the seconds, and the popularity as searchindex.Quarters.
func decodeValue(b []byte) (seconds int64, quarters byte) {
	for _, c := range b[:valueLen-1] {
		seconds = seconds<<7 | int64(c)
	}
	return seconds, b[valueLen-1]
}

// document is an index.Document whose fields are analysed already.
type document struct {
	id     string
	fields []*field
}

// appendFilters appends the terms by which filters find a document as of a kind.
func appendFilters(to []string, d *searchindex.Document, kind searchindex.Kind) []string {
	for _, a := range d.Access {
		to = append(to, accessTerm(kind, a))
	}
	if d.Author != 0 {
		to = append(to, authorTerm(kind, d.Author))
	}
	if d.Link {
		to = append(to, linkTerm(kind))
	}
	for _, l := range d.Labels {
		to = append(to, labelTerm(kind, l))
	}
	return to
}

func newDocument(d *searchindex.Document) *document {
	kinds := d.Kinds
	if len(kinds) == 0 {
		kinds = []searchindex.Kind{d.ID.Kind}
	}
	filters := make([]string, 0, len(kinds)*(len(d.Access)+len(d.Labels)+2))
	for _, kind := range kinds {
		filters = appendFilters(filters, d, kind)
	}
	text := &text{document: d}
	return &document{id: packID(d.ID), fields: []*field{
		{name: textField, text: text, options: index.IndexField},
		{name: wordsField, text: text, options: index.StoreField},
		{name: denseField, text: text, dense: true, options: index.IndexField},
		{name: filterField, words: filters, options: index.IndexField},
		{name: valueField, value: appendValue(nil, d.TimeMs, d.Popularity), options: index.DocValues},
	}}
}

func newCheckpoint(name string, at uint64) *document {
	return &document{id: checkpointID(name), fields: []*field{{name: checkpointField, value: binary.BigEndian.AppendUint64(nil, at), options: index.StoreField}}}
}

func (d *document) ID() string  { return d.id }
func (d *document) Size() int   { return len(d.id) }
func (d *document) AddIDField() {} // a segment asks for the id
func (d *document) VisitFields(visit index.FieldVisitor) {
	for _, f := range d.fields {
		if f.name != wordsField || len(f.text.of(false)) > 0 {
			visit(f)
		}
	}
}
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }

// text is divided into words once for both fields: the engine analyses the fields of a document one after the other.
type text struct {
	document *searchindex.Document
	divided  bool
	words    [2][]string // the dense ones are the second
}

func (t *text) of(dense bool) []string {
	if !t.divided {
		t.divided = true
		for _, w := range searchindex.WordsOf(t.document) {
			if searchindex.IsDense(w) {
				t.words[1] = append(t.words[1], w)
			} else {
				t.words[0] = append(t.words[0], w)
			}
		}
	}
	if dense {
		return t.words[1]
	}
	return t.words[0]
}

// field is an indexsegment.Field of words. If it has a text, Analyze divides that into words.
type field struct {
	name    string
	text    *text
	dense   bool // of the text, only what searchindex.IsDense accepts; else only the other words
	words   []string
	value   []byte
	options index.FieldIndexingOptions
}

func (f *field) Name() string                                     { return f.name }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return 0 }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }

// Value returns what a segment stores of the field.
func (f *field) Value() []byte {
	if f.name == wordsField && f.value == nil {
		f.value = packWords(f.text.of(false))
	}
	return f.value
}

// Analyze is called by the engine, for several documents at once.
func (f *field) Analyze() {
	if f.text != nil {
		f.words = f.text.of(f.dense)
	}
}

// Terms returns the words of the field. They are known after Analyze.
func (f *field) Terms() []string { return f.words }

// packID returns the id that the engine has of a document: its kind, and two numbers. Their order as strings is that of the numbers, so that the messages of a conversation are neighbours in a segment.
func packID(id searchindex.ID) string {
	return string(appendNumber(appendNumber([]byte{byte(id.Kind)}, id.Parent), id.Number))
}

// appendNumber appends how many bytes a number has without leading zeros, and these bytes.
func appendNumber(b []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	b = append(b, byte(size))
	for ; size > 0; size-- {
		b = append(b, byte(n>>(8*(size-1))))
	}
	return b
}

// readNumber reads what appendNumber has appended, and returns what follows.
func readNumber(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > 8 || len(b) <= int(b[0]) {
		return 0, nil, false
	}
	size := int(b[0])
	for _, c := range b[1 : 1+size] {
		n = n<<8 | uint64(c)
	}
	return n, b[1+size:], true
}

// unpackID reads what packID has returned.
func unpackID(b []byte) (id searchindex.ID, ok bool) {
	if len(b) == 0 {
		return id, false
	}
	id.Kind = searchindex.Kind(b[0])
	if id.Parent, b, ok = readNumber(b[1:]); !ok {
		return id, false
	}
	id.Number, b, ok = readNumber(b)
	return id, ok && len(b) == 0
}
