package indexsegment_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

// document is what the tests index.
type document struct {
	id     string
	terms  map[string][]string // by field
	stored map[string]string
	value  string // of the field "v"; "": none
}

func (d *document) ID() string                                 { return d.id }
func (d *document) Size() int                                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }
func (d *document) VisitFields(visit index.FieldVisitor) {
	for name, terms := range d.terms {
		visit(&field{name: name, terms: terms, options: index.IndexField})
	}
	for name, value := range d.stored {
		visit(&field{name: name, value: value, options: index.StoreField})
	}
	if d.value != "" {
		visit(&field{name: "v", value: d.value, options: index.DocValues})
	}
}

type field struct {
	name    string
	terms   []string
	value   string
	options index.FieldIndexingOptions
}

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return []byte(f.value) }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return 0 }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }
func (f *field) Terms() []string                                  { return f.terms }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSegment(t testing.TB, documents ...*document) segment.Segment {
	t.Helper()
	list := make([]index.Document, len(documents))
	for i, d := range documents {
		list[i] = d
	}
	s, _, err := indexsegment.Plugin{}.New(list)
	must(t, err)
	return s
}

// persisted returns a segment in memory from a file.
func persisted(t testing.TB, s segment.Segment) segment.Segment {
	t.Helper()
	path := filepath.Join(t.TempDir(), "segment")
	must(t, s.(segment.UnpersistedSegment).Persist(path))
	return opened(t, path)
}

func opened(t testing.TB, path string) segment.Segment {
	t.Helper()
	s, err := indexsegment.Plugin{}.Open(path)
	must(t, err)
	if got := s.(segment.PersistedSegment).Path(); got != path {
		t.Errorf("the path is %s, not %s", got, path)
	}
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// merged returns segments as one, without the documents that have some ids. It checks the new numbers.
func merged(t testing.TB, segments []segment.Segment, without map[string]bool) segment.Segment {
	t.Helper()
	drops := make([]*roaring.Bitmap, len(segments))
	for k, s := range segments {
		numbers, err := s.DocNumbers(slices.Collect(maps.Keys(without)))
		must(t, err)
		if !numbers.IsEmpty() || k%2 == 0 {
			drops[k] = numbers
		}
	}
	path := filepath.Join(t.TempDir(), "merged")
	numbers, size, err := indexsegment.Plugin{}.Merge(segments, drops, path, make(chan struct{}), nil)
	must(t, err)
	s := opened(t, path)
	if n := len(indexsegment.Bytes(s)); uint64(n) != size {
		t.Errorf("the merge says that it has written %d of %d bytes", size, n)
	}
	for k, of := range segments {
		for number := range of.Count() {
			id, err := of.DocID(number)
			must(t, err)
			if dropped := without[string(id)]; dropped != (numbers[k][number] == math.MaxUint64) {
				t.Fatalf("document %x is dropped: %v; its number is %d", id, dropped, numbers[k][number])
			} else if dropped {
				continue
			}
			if now, err := s.DocID(numbers[k][number]); err != nil || !bytes.Equal(now, id) {
				t.Fatalf("document %x has the number of %x (%v)", id, now, err)
			}
		}
	}
	return s
}

// check compares a segment with the documents that it should have.
func check(t testing.TB, in segment.Segment, documents map[string]*document) {
	t.Helper()
	s, err := indexsegment.Of(in)
	must(t, err)
	ids := slices.Sorted(maps.Keys(documents))
	if s.Count() != uint64(len(ids)) {
		t.Fatalf("%d documents, want %d", s.Count(), len(ids))
	}
	terms := map[string]map[string][]uint32{}
	for number, id := range ids {
		d := documents[id]
		if got, err := s.DocID(uint64(number)); err != nil || string(got) != id {
			t.Fatalf("document %d has the id %x, want %x (%v)", number, got, id, err)
		}
		if got, err := s.Value("v", uint64(number)); err != nil || string(got) != d.value {
			t.Fatalf("document %x has the value %x, want %x (%v)", id, got, d.value, err)
		}
		stored := map[string]string{}
		must(t, s.VisitStoredFields(uint64(number), func(name string, _ byte, value []byte, _ []uint64) bool {
			stored[name] = string(value)
			if one, err := s.Stored(name, uint64(number)); err != nil || !bytes.Equal(one, value) {
				t.Errorf("document %x has %x in %s, or %x (%v)", id, value, name, one, err)
			}
			return true
		}))
		if !maps.Equal(stored, d.stored) {
			t.Fatalf("document %x has stored %q, want %q", id, stored, d.stored)
		}
		for name, list := range d.terms {
			if terms[name] == nil {
				terms[name] = map[string][]uint32{}
			}
			for _, term := range slices.Compact(slices.Sorted(slices.Values(list))) {
				terms[name][term] = append(terms[name][term], uint32(number))
			}
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(terms)), "no such field") {
		checkTerms(t, s.Terms(name), terms[name])
	}
	checkNumbers(t, s, ids)
}

// checkNumbers checks that documents are found by their ids, and others not.
func checkNumbers(t testing.TB, s *indexsegment.Segment, ids []string) {
	t.Helper()
	var asked []string
	want := roaring.New()
	for number, id := range ids {
		if asked = append(asked, id+"\x00", id[:len(id)-1]+"\xff"); number%3 != 0 {
			asked = append(asked, id)
			want.Add(uint32(number))
		}
	}
	asked = append(asked, "\x00", "\xff\xff")
	asked = slices.DeleteFunc(asked, func(id string) bool {
		number, ok := slices.BinarySearch(ids, id)
		return ok && !want.Contains(uint32(number))
	})
	got, err := s.DocNumbers(asked)
	if err != nil || !got.Equals(want) {
		t.Fatalf("found %v, want %v (%v)", got, want, err)
	}
}

// checkTerms compares terms with the documents that they should have, one by one and by an iterator.
func checkTerms(t testing.TB, got indexsegment.Terms, want map[string][]uint32) {
	t.Helper()
	for term, documents := range want {
		found := roaring.New()
		if err := got.AddDocuments(found, []byte(term)); err != nil || !slices.Equal(found.ToArray(), documents) {
			t.Fatalf("%q has the documents %v, want %v (%v)", term, found, documents, err)
		}
		if other := term + "\x00"; want[other] == nil {
			if err := got.AddDocuments(found, []byte(other)); err != nil || found.GetCardinality() != uint64(len(documents)) {
				t.Fatalf("%q has documents (%v)", other, err)
			}
		}
	}
	checkIterator(t, got, want, nil, "", "")
}

// checkIterator compares what an iterator returns with the terms that it should.
func checkIterator(t testing.TB, got indexsegment.Terms, want map[string][]uint32, automaton segment.Automaton, from, end string) {
	t.Helper()
	var expected, found []string
	for _, term := range slices.Sorted(maps.Keys(want)) {
		if term >= from && (end == "" || term < end) && (automaton == nil || accepts(automaton, term)) {
			expected = append(expected, fmt.Sprint(term, want[term]))
		}
	}
	var until []byte
	if end != "" {
		until = []byte(end)
	}
	i, err := got.Iterator(automaton, []byte(from), until)
	must(t, err)
	for i.Next() {
		documents := roaring.New()
		must(t, i.AddDocuments(documents))
		found = append(found, fmt.Sprint(string(i.Term()), documents.ToArray()))
	}
	if i.Err() != nil || !slices.Equal(found, expected) {
		t.Fatalf("the terms from %q to %q are\n%s\nwant\n%s\n(%v)", from, end, strings.Join(found, "\n"), strings.Join(expected, "\n"), i.Err())
	}
}

func accepts(a segment.Automaton, term string) bool {
	state := a.Start()
	for i := range len(term) {
		if state = a.Accept(state, term[i]); !a.CanMatch(state) {
			return false
		}
	}
	return a.IsMatch(state)
}
