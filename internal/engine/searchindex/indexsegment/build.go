package indexsegment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	index "github.com/blevesearch/bleve_index_api"
)

// posting is a term, by its number, and a document that has it.
type posting struct{ term, document uint32 }

// fieldBuilder collects what the documents of a new segment have in a field.
type fieldBuilder struct {
	name     string
	numbers  map[string]uint32 // of the terms
	terms    []string
	postings []posting
	width    int
	values   []byte
	place    int // among all fields, by their names
}

func (f *fieldBuilder) addTerms(terms []string, document uint32) {
	for _, t := range terms {
		number, ok := f.numbers[t]
		if !ok {
			number = uint32(len(f.terms))
			f.numbers[t] = number
			f.terms = append(f.terms, t)
		}
		f.postings = append(f.postings, posting{number, document})
	}
}

// pad makes the values of documents without one.
func (f *fieldBuilder) pad(documents int) {
	for len(f.values) < documents*f.width {
		f.values = append(f.values, absent)
	}
}

func (f *fieldBuilder) addValue(value []byte, document uint32) error {
	if f.width == 0 {
		f.width = len(value)
	}
	if len(value) == 0 || len(value) != f.width || len(value) > maxWidth || value[0] == absent {
		return fmt.Errorf("indexsegment: the value %x of field %q: want 1 to %d bytes, the same number as others, of which the first is not %x", value, f.name, maxWidth, absent)
	}
	f.pad(int(document))
	f.values = append(f.values, value...)
	return nil
}

// write writes the terms.
func (f *fieldBuilder) write(w *writer) {
	ends := make([]uint32, len(f.terms)+1) // ends[t] is where the documents of term t begin, and after the loop where they end
	for _, p := range f.postings {
		ends[p.term+1]++
	}
	for t := range f.terms {
		ends[t+1] += ends[t]
	}
	documents := make([]uint32, len(f.postings))
	for _, p := range f.postings {
		documents[ends[p.term]] = p.document
		ends[p.term]++
	}
	order := make([]uint32, len(f.terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(f.terms[a], f.terms[b]) })
	terms := newTermWriter(w)
	var term []byte
	for _, t := range order {
		from := uint32(0)
		if t > 0 {
			from = ends[t-1]
		}
		term = append(term[:0], f.terms[t]...)
		terms.add(term, slices.Compact(documents[from:ends[t]]))
	}
	terms.end()
}

// builder collects the documents of a new segment.
type builder struct {
	documents []index.Document
	fields    map[string]*fieldBuilder
	sorted    []*fieldBuilder
}

func (b *builder) field(name string) *fieldBuilder {
	f := b.fields[name]
	if f == nil {
		f = &fieldBuilder{name: name, numbers: map[string]uint32{}}
		b.fields[name] = f
	}
	return f
}

const idField = "_id"

// build returns a segment with documents.
func build(documents []index.Document) ([]byte, error) {
	b := &builder{documents: slices.SortedFunc(slices.Values(documents), func(x, y index.Document) int { return strings.Compare(x.ID(), y.ID()) }), fields: map[string]*fieldBuilder{}}
	for i, d := range b.documents {
		if i > 0 && b.documents[i-1].ID() == d.ID() {
			return nil, fmt.Errorf("indexsegment: two documents have the id %x", d.ID())
		}
		if err := b.collect(d, uint32(i)); err != nil {
			return nil, err
		}
	}
	for _, f := range b.fields {
		f.pad(len(documents))
		b.sorted = append(b.sorted, f)
	}
	slices.SortFunc(b.sorted, func(x, y *fieldBuilder) int { return cmp.Compare(x.name, y.name) })
	for i, f := range b.sorted {
		f.place = i
	}
	var out bytes.Buffer
	w := newWriter(&out)
	b.writeDocuments(w)
	w.number(uint64(len(b.sorted)))
	for _, f := range b.sorted {
		w.name(f.name)
		f.write(w)
		w.values(f.width, f.values)
	}
	_, err := w.finish()
	return out.Bytes(), err
}

// collect collects the terms and the values of a document.
func (b *builder) collect(d index.Document, number uint32) (err error) {
	d.VisitFields(func(field index.Field) {
		if field.Name() == idField || err != nil {
			return
		}
		f := b.field(field.Name())
		if field.Options().IncludeDocValues() {
			err = f.addValue(field.Value(), number)
		}
		if field.Options().IsIndexed() {
			if with, ok := field.(Field); ok {
				f.addTerms(with.Terms(), number)
			} else {
				err = fmt.Errorf("indexsegment: field %q is %T, which has no terms", f.name, field)
			}
		}
	})
	return err
}

// writeDocuments writes ids and what is stored.
func (b *builder) writeDocuments(w *writer) {
	w.number(uint64(len(b.documents)))
	ids := newDocumentWriter(w, idsPerBlock)
	for _, d := range b.documents {
		ids.addID([]byte(d.ID()))
	}
	ids.end()
	stored := newDocumentWriter(w, storedPerBlock)
	var record []byte
	for _, d := range b.documents {
		record = record[:0]
		d.VisitFields(func(field index.Field) {
			if field.Name() != idField && field.Options().IsStored() {
				record = appendStored(record, b.fields[field.Name()].place, field.Value())
			}
		})
		stored.addRecord(record)
	}
	stored.end()
}
