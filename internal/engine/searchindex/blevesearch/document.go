package blevesearch

import (
	"encoding/binary"

	index "github.com/blevesearch/bleve_index_api"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// Fields of a document.
const (
	idField         = "_id"
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

// valueLen is the length of a value: seconds since 1970 and the popularity, in bytes below 0x80, because the engine separates values by 0xff.
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
		{name: textField, text: text, options: index.IndexField | index.SkipFreqNorm},
		{name: wordsField, text: text, options: index.StoreField},
		{name: denseField, text: text, dense: true, options: index.IndexField | index.SkipFreqNorm},
		{name: filterField, words: filters, options: index.IndexField | index.SkipFreqNorm},
		{name: valueField, words: []string{string(appendValue(nil, d.TimeMs, d.Popularity))}, options: index.IndexField | index.DocValues | index.SkipFreqNorm},
	}}
}

func newCheckpoint(name string, at uint64) *document {
	return &document{id: checkpointID(name), fields: []*field{{name: checkpointField, value: binary.BigEndian.AppendUint64(nil, at), options: index.StoreField}}}
}

func (d *document) ID() string { return d.id }
func (d *document) Size() int  { return len(d.id) }
func (d *document) AddIDField() {
	d.fields = append(d.fields, &field{name: idField, value: []byte(d.id), words: []string{d.id}, options: index.IndexField | index.StoreField | index.SkipFreqNorm})
}
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

// field is an index.Field of words. If it has a text, Analyze divides that into words.
type field struct {
	name    string
	text    *text
	dense   bool // of the text, only what searchindex.IsDense accepts; else only the other words
	words   []string
	value   []byte
	options index.FieldIndexingOptions
	found   index.TokenFrequencies
}

func (f *field) Name() string                                     { return f.name }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return 1 } // see frequency
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.found }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }

// Value is what the engine stores of a field.
func (f *field) Value() []byte {
	if f.name == wordsField && f.value == nil {
		f.value = packWords(f.text.of(false))
	}
	return f.value
}

// Analyze is called by the engine, once for each field that is indexed.
func (f *field) Analyze() {
	words := f.words
	if f.text != nil {
		words = f.text.of(f.dense)
	}
	f.found = make(index.TokenFrequencies, len(words))
	for _, w := range words {
		t := &index.TokenFreq{Term: []byte(w)}
		t.SetFrequency(frequency(w))
		f.found[w] = t
	}
}

// shortWord is how many bytes words have that are likely to be in many documents.
const shortWord = 3

// frequency returns how often a word is said to be in a document. Nothing uses it, but the engine stores it, and from 1 on the length of the field as well. A list of one document whose frequency is 1 is in
// the dictionary, with the length, and takes about 10 bytes less if all lengths are the same; all others take a byte less for each document if the frequency is 0.
func frequency(word string) int {
	if len(word) <= shortWord {
		return 0
	}
	return 1
}

// packID returns the id that the engine has of a document: its kind, and two numbers as varints.
func packID(id searchindex.ID) string {
	return string(binary.AppendUvarint(binary.AppendUvarint([]byte{byte(id.Kind)}, id.Parent), id.Number))
}

// unpackID reads what packID has returned.
func unpackID(b []byte) (id searchindex.ID, ok bool) {
	if len(b) == 0 {
		return id, false
	}
	parent, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return id, false
	}
	number, m := binary.Uvarint(b[1+n:])
	return searchindex.ID{Kind: searchindex.Kind(b[0]), Parent: parent, Number: number}, m > 0 && 1+n+m == len(b)
}
