package indexsegment_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum/levenshtein"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

// random makes documents.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 163))} }

// text returns up to n letters of few, so that texts begin alike; sometimes one that is much longer.
func (r random) text(n int) string {
	var b strings.Builder
	if r.IntN(50) == 0 {
		n *= 12
	}
	for range 1 + r.IntN(n) {
		b.WriteString([]string{"a", "b", "c", "d", "é", "中", "\xff", "\x00"}[r.IntN(8)])
	}
	return b.String()
}

func (r random) document(id string) *document {
	d := &document{id: id, terms: map[string][]string{}, stored: map[string]string{}}
	for range r.IntN(12) {
		d.terms["t"] = append(d.terms["t"], r.text(5))
	}
	for i := range 3 { // lists with many documents, of all encodings
		if r.IntN(1+3*i) == 0 {
			d.terms["t"] = append(d.terms["t"], fmt.Sprint("often", i))
		}
	}
	d.terms["f"] = []string{id[:1]}
	if r.IntN(3) > 0 {
		d.stored["w"] = r.text(40)
	}
	if r.IntN(8) == 0 {
		d.stored[r.text(2)] = r.text(3)
	}
	if r.IntN(10) > 0 {
		d.value = string([]byte{byte(r.IntN(128)), byte(r.IntN(256)), byte(r.IntN(256))})
	}
	return d
}

// Segments of random documents, merged at random while some are deleted, have what a map has.
func TestSegmentsAreMaps(t *testing.T) {
	for seed := range uint64(40) {
		r := newRandom(seed)
		type held struct {
			segment   segment.Segment
			documents map[string]*document
		}
		var all []held
		used := map[string]bool{}
		for range 1 + r.IntN(6) {
			h := held{documents: map[string]*document{}}
			for range r.IntN(120) {
				if id := r.text(6); !used[id] {
					used[id], h.documents[id] = true, r.document(id)
				}
			}
			if h.segment = newSegment(t, slices.Collect(maps.Values(h.documents))...); r.IntN(2) == 0 {
				h.segment = persisted(t, h.segment)
			}
			check(t, h.segment, h.documents)
			all = append(all, h)
		}
		for len(all) > 1 {
			n := min(len(all), 2+r.IntN(3))
			next, without := held{documents: map[string]*document{}}, map[string]bool{}
			var segments []segment.Segment
			for _, h := range all[:n] {
				segments = append(segments, h.segment)
				for id, d := range h.documents {
					if r.IntN(4) == 0 {
						without[id] = true
					} else {
						next.documents[id] = d
					}
				}
			}
			next.segment = merged(t, segments, without)
			check(t, next.segment, next.documents)
			all = append([]held{next}, all[n:]...)
		}
	}
}

// A merge of all documents into none, and of none, is a segment.
func TestEmptySegments(t *testing.T) {
	d := newRandom(1).document("id")
	check(t, merged(t, []segment.Segment{newSegment(t, d), newSegment(t)}, map[string]bool{"id": true}), nil)
	check(t, persisted(t, newSegment(t)), nil)
}

// Iterators return what their automaton accepts, between two terms, of so many terms that blocks are skipped.
func TestIterators(t *testing.T) {
	r := newRandom(2)
	d := &document{id: "id", terms: map[string][]string{}}
	want := map[string][]uint32{}
	for range 6000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString([]string{"a", "b", "c", "d", "e", "é", "ж", "中", "文"}[r.IntN(9)])
		}
		want[b.String()] = []uint32{0}
	}
	d.terms["t"] = slices.Collect(maps.Keys(want))
	s, err := indexsegment.Of(persisted(t, newSegment(t, d)))
	must(t, err)
	terms := s.Terms("t")
	typos, err := levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	must(t, err)
	sorted := slices.Sorted(maps.Keys(want))
	for k := 0; k < len(sorted); k += 97 {
		automaton, err := typos.BuildDfa(sorted[k], 1)
		must(t, err)
		checkIterator(t, terms, want, automaton, "", "")
		from, end := sorted[r.IntN(len(sorted))], sorted[r.IntN(len(sorted))]+"b"
		checkIterator(t, terms, want, automaton, from, end)
		checkIterator(t, terms, want, nil, from, end)
		checkIterator(t, terms, want, nil, sorted[k], sorted[k]+"\xff")
	}
}

// Each list is in the smallest encoding, and is read as it was, as numbers and as a set.
func TestListsOfDocuments(t *testing.T) {
	r := newRandom(3)
	every := func(count, step, length uint32) (list []uint32) {
		for d := range count {
			if d%step < length {
				list = append(list, d)
			}
		}
		return list
	}
	var scattered []uint32
	for d := range uint32(100_000) {
		if r.IntN(3) == 0 {
			scattered = append(scattered, d)
		}
	}
	for name, c := range map[string]struct {
		documents      []uint32
		encoding, size int
	}{
		"two":                    {[]uint32{7, 300}, indexsegment.GapEncoding, 3},
		"one in fifty":           {every(10_000, 50, 1), indexsegment.GapEncoding, 200},
		"runs of a hundred":      {every(100_000, 1000, 100), indexsegment.RunLengthEncoding, 299},
		"all":                    {every(1000, 1, 1), indexsegment.RunLengthEncoding, 3},
		"half":                   {every(1000, 2, 1), indexsegment.BitmapEncoding, 125},
		"half of many":           {every(100_003, 2, 1), indexsegment.BitmapEncoding, 12501},
		"a third of many":        {scattered, indexsegment.BitmapEncoding, int(scattered[len(scattered)-1]/8) + 1},
		"the last possible ones": {[]uint32{1<<32 - 4, 1<<32 - 3, 1<<32 - 2}, indexsegment.RunLengthEncoding, 6},
	} {
		list, encoding := indexsegment.AppendDocuments([]byte("x"), c.documents)
		if list = list[1:]; encoding != c.encoding || len(list) != c.size {
			t.Errorf("%s: %d bytes in encoding %d, want %d in encoding %d", name, len(list), encoding, c.size, c.encoding)
		}
		count := c.documents[len(c.documents)-1] + 1
		set := roaring.BitmapOf(5)
		if err := indexsegment.AddDocuments(set, list, encoding, count); err != nil || !set.Equals(roaring.Or(roaring.BitmapOf(5), roaring.BitmapOf(c.documents...))) {
			t.Errorf("%s: other documents are in the set (%v)", name, err)
		}
		if got, err := indexsegment.ReadDocuments(nil, list, encoding, count); err != nil || !slices.Equal(got, c.documents) {
			t.Errorf("%s: other documents are read (%v)", name, err)
		}
		if err := indexsegment.AddDocuments(roaring.New(), list, encoding, count-1); !errors.Is(err, indexsegment.ErrDamaged) {
			t.Errorf("%s: a document that there is not is added: %v", name, err)
		}
		if _, err := indexsegment.ReadDocuments(nil, list, encoding, count-1); !errors.Is(err, indexsegment.ErrDamaged) {
			t.Errorf("%s: a document that there is not is read: %v", name, err)
		}
	}
}

// A file of which a byte is changed, or missing, is refused, and the engine's configuration hears why.
func TestDamagedFiles(t *testing.T) {
	r := newRandom(4)
	path := filepath.Join(t.TempDir(), "segment")
	must(t, newSegment(t, r.document("1"), r.document("2")).(segment.UnpersistedSegment).Persist(path))
	good, err := os.ReadFile(path)
	must(t, err)
	refused := func(what string, content []byte) {
		t.Helper()
		must(t, os.WriteFile(path, content, 0o600))
		var heard error
		_, err := indexsegment.Plugin{}.OpenUsing(path, map[string]any{indexsegment.ErrorHook: func(err error) { heard = err }})
		if !errors.Is(err, indexsegment.ErrDamaged) || !errors.Is(heard, err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; heard: %v", what, err, heard)
		}
	}
	for i := range good {
		changed := slices.Clone(good)
		changed[i] ^= 1 << r.IntN(8)
		refused(fmt.Sprintf("byte %d is changed", i), changed)
		refused(fmt.Sprintf("the bytes from %d on are missing", i), good[:i])
	}
}

// Documents that a segment cannot have are refused.
func TestRefusedDocuments(t *testing.T) {
	for name, documents := range map[string][]index.Document{
		"two documents have the id":               {&document{id: "x"}, &document{id: "x"}},
		"the same number as others":               {&document{id: "x", value: "1"}, &document{id: "y", value: "12"}},
		"of which the first is not ff":            {&document{id: "x", value: "\xff"}},
		"want 1 to 255 bytes":                     {&document{id: "x", value: strings.Repeat("1", 256)}},
		"is indexsegment_test.bare, which has no": {bareDocument{&document{id: "x"}}},
	} {
		if _, _, err := (indexsegment.Plugin{}).New(documents); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "merged")
	wide, narrow := newSegment(t, &document{id: "x", value: "12"}), newSegment(t, &document{id: "y", value: "1"})
	if _, _, err := (indexsegment.Plugin{}).Merge([]segment.Segment{wide, narrow}, make([]*roaring.Bitmap, 2), path, nil, nil); err == nil || !strings.Contains(err.Error(), `values of field "v" have 2 and 1 bytes`) {
		t.Errorf("values of two widths are merged: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the failed merge has left a file: %v", err)
	}
	if _, err := wide.Dictionary("t"); err == nil {
		t.Error("a query of the engine is not refused")
	}
}

// bareDocument has a field without terms of its own.
type bareDocument struct{ *document }

func (b bareDocument) ID() string { return b.id }
func (b bareDocument) VisitFields(visit index.FieldVisitor) {
	visit(bare{&field{name: "t", options: index.IndexField}})
}

type bare struct{ index.Field }

// A merge that is ended says so as the engine expects it, and leaves no file.
func TestMergeIsEnded(t *testing.T) {
	var documents []*document
	for i := range 1100 {
		documents = append(documents, &document{id: fmt.Sprint(i)})
	}
	closed := make(chan struct{})
	close(closed)
	path := filepath.Join(t.TempDir(), "merged")
	if _, _, err := (indexsegment.Plugin{}).Merge([]segment.Segment{newSegment(t, documents...)}, make([]*roaring.Bitmap, 1), path, closed, nil); err != segment.ErrClosed { //nolint:errorlint // the engine compares it so
		t.Errorf("the merge ended with %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has left a file: %v", err)
	}
}

// The bytes of a segment are those of version 1, which docs/formats/searchindex.md explains.
func TestGoldenIndexSegment(t *testing.T) {
	s := newSegment(t,
		&document{id: "b1", terms: map[string][]string{"t": {"word", "words", "alone"}}, stored: map[string]string{"w": "kept"}, value: "\x01\x02"},
		&document{id: "b2", terms: map[string][]string{"t": {"word", "words"}}},
		&document{id: "c", terms: map[string][]string{"t": {"words"}}})
	const golden = "5249414c544f49530262311132016307000000000000000602046b657074000009000000000000001005616c6f6e650084776f7264" +
		"06c17306030713000000000000000102ffffffff03070108090117030174130128004301760000430243017700004900491d0000005249414c544f4953fc6171ec"
	if got := hex.EncodeToString(indexsegment.Bytes(s)); got != golden {
		t.Errorf("the segment is\n%s\nwant\n%s", got, golden)
	}
}

// FuzzSegment reads segments of any bytes with the right checksum, and merges them: all of that ends, and each error says that they are damaged.
func FuzzSegment(f *testing.F) {
	r := newRandom(5)
	for n := range 4 {
		var documents []*document
		for i := range n * n * 9 {
			documents = append(documents, r.document(fmt.Sprintf("%c%03d", 'a'+i%3, i)))
		}
		f.Add(indexsegment.Bytes(newSegment(f, documents...)))
	}
	typos, err := levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	must(f, err)
	automaton, err := typos.BuildDfa("abcd", 1)
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 1<<16 {
			readDamaged(t, slices.Clone(data), automaton)
		}
	})
}

// Every byte of a segment may be another, with the right checksum, without harm.
func TestHostileSegments(t *testing.T) {
	r := newRandom(6)
	var documents []*document
	for i := range 15 {
		documents = append(documents, r.document(fmt.Sprintf("%c%03d", 'a'+i%3, i)))
	}
	good := indexsegment.Bytes(newSegment(t, documents...))
	for i := range good {
		for _, with := range []byte{0x01, 0x70, 0x80, 0xff} {
			data := slices.Clone(good)
			data[i] ^= with
			readDamaged(t, data, nil)
		}
	}
}

// readDamaged reads a segment of any bytes, gives them the right checksum, and merges it with others: all of that ends, and each error says that the segment is damaged.
func readDamaged(t *testing.T, data []byte, automaton segment.Automaton) {
	indexsegment.Seal(data)
	expect := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, indexsegment.ErrDamaged) {
			t.Errorf("%x: error %v, want none or %v", data, err, indexsegment.ErrDamaged)
		}
	}
	in, err := indexsegment.FromBytes(data)
	if expect(err); err != nil {
		return
	}
	s, err := indexsegment.Of(in)
	must(t, err)
	readAll(s, automaton, expect)
	good := newSegment(t, &document{id: "a", terms: map[string][]string{"t": {"often0"}}})
	again, err := indexsegment.MergeBytes([]segment.Segment{good, in, in}, []*roaring.Bitmap{nil, roaring.BitmapOf(0, 3), nil})
	if err != nil {
		expect(err)
		return
	}
	both, err := indexsegment.Of(again)
	must(t, err)
	readAll(both, automaton, func(err error) { must(t, err) })
}

// readAll reads all of a segment, and calls a function with all errors.
func readAll(s *indexsegment.Segment, automaton segment.Automaton, result func(error)) {
	ids := []string{"", "a001", "b\xff"}
	for number := range s.Count() {
		id, err := s.DocID(number)
		result(err)
		ids = append(ids, string(id))
		for _, name := range s.Fields() {
			_, err = s.Value(name, number)
			result(err)
		}
		result(s.VisitStoredFields(number, func(string, byte, []byte, []uint64) bool { return true }))
	}
	_, err := s.DocNumbers(ids)
	result(err)
	for _, name := range s.Fields() {
		_, _, err := s.Terms(name).Typos("a001")
		result(err)
		for _, a := range []segment.Automaton{nil, automaton} {
			i, err := s.Terms(name).Iterator(a, []byte("a"), []byte("z"))
			result(err)
			for err == nil && i.Next() {
				result(i.AddDocuments(roaring.New()))
			}
			result(i.Err())
		}
	}
}
