package indexsegment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// checkEvery is after how many documents or terms a merge checks whether it was ended.
const checkEvery = 1024

// sorted is what a merge reads from each segment: keys in their order.
type sorted interface {
	next() bool
	key() []byte
	err() error
}

func (i *Iterator) next() bool  { return i.Next() }
func (i *Iterator) key() []byte { return i.Term() }
func (i *Iterator) err() error  { return i.Err() }

// queue has the segments of a merge by their next key, as a heap.
type queue[C sorted] struct {
	cursors []C
	heap    []int // of the numbers of segments
}

// newQueue reads the first key of each segment.
func newQueue[C sorted](cursors []C) (*queue[C], error) {
	q := &queue[C]{cursors: cursors}
	for source, c := range cursors {
		if c.next() {
			q.heap = append(q.heap, source)
		} else if err := c.err(); err != nil {
			return nil, err
		}
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
	return q, nil
}

func (q *queue[C]) less(a, b int) bool {
	order := bytes.Compare(q.cursors[a].key(), q.cursors[b].key())
	return order < 0 || order == 0 && a < b
}

func (q *queue[C]) down(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(q.heap) && q.less(q.heap[child], q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

// first returns the segment with the lowest key. ok: there is one.
func (q *queue[C]) first() (source int, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0], true
}

// advance reads the next key of the first segment.
func (q *queue[C]) advance() error {
	c := q.cursors[q.heap[0]]
	if !c.next() {
		if err := c.err(); err != nil {
			return err
		}
		last := len(q.heap) - 1
		q.heap[0], q.heap = q.heap[last], q.heap[:last]
	}
	q.down(0)
	return nil
}

// origin is where a document of the new segment comes from.
type origin struct{ source, number uint32 }

// merger merges segments.
type merger struct {
	sources []*Segment
	drops   []*roaring.Bitmap
	closed  chan struct{}
	steps   int

	w       *writer
	numbers [][]uint64 // the new ones of the documents of each segment
	origins []origin
	names   []string // of the fields
	// places[s][k] is the place of field k of segment s among the names.
	places [][]int
	set    []uint64 // scratch of sort; all bits are 0
}

// step counts work, and fails once the merge was ended.
func (m *merger) step() error {
	if m.steps++; m.steps%checkEvery == 0 {
		select {
		case <-m.closed:
			return segment.ErrClosed
		default:
		}
	}
	return nil
}

// mergeFile writes a file with the documents of segments.
func mergeFile(segments []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}) (numbers [][]uint64, size uint64, err error) {
	m, err := newMerger(segments, drops, closed)
	if err != nil {
		return nil, 0, err
	}
	err = writeFile(path, func(to io.Writer) (err error) {
		size, err = m.write(to)
		return err
	})
	if errors.Is(err, segment.ErrClosed) {
		return nil, 0, segment.ErrClosed // the engine compares it
	}
	if err != nil {
		return nil, 0, fmt.Errorf("indexsegment: a merge to %s: %w", path, err)
	}
	return m.numbers, size, nil
}

func newMerger(segments []segment.Segment, drops []*roaring.Bitmap, closed chan struct{}) (*merger, error) {
	if len(drops) != len(segments) {
		return nil, fmt.Errorf("indexsegment: %d segments and %d sets of deleted documents", len(segments), len(drops))
	}
	m := &merger{drops: drops, closed: closed}
	for _, s := range segments {
		source, err := Of(s)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, source)
	}
	return m, nil
}

// write writes the new segment, and returns its size.
func (m *merger) write(to io.Writer) (uint64, error) {
	m.w = newWriter(to)
	if err := m.run(); err != nil {
		return 0, err
	}
	return m.w.finish()
}

func (m *merger) run() error {
	m.findFields()
	if err := m.mergeIDs(); err != nil {
		return err
	}
	m.set = make([]uint64, len(m.origins)/64+1)
	if err := m.mergeStored(); err != nil {
		return err
	}
	m.w.number(uint64(len(m.names)))
	for _, name := range m.names {
		m.w.name(name)
		if err := m.mergeTerms(name); err != nil {
			return err
		}
		if err := m.mergeValues(name); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) findFields() {
	for _, s := range m.sources {
		m.names = append(m.names, s.Fields()...)
	}
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	for _, s := range m.sources {
		places := make([]int, len(s.fields))
		for k := range s.fields {
			places[k], _ = slices.BinarySearch(m.names, s.fields[k].name)
		}
		m.places = append(m.places, places)
	}
}

// mergeIDs writes the ids of all documents that are not dropped, and gives these their new numbers.
func (m *merger) mergeIDs() error {
	cursors := make([]*idCursor, len(m.sources))
	for k, s := range m.sources {
		cursors[k] = &idCursor{segment: s}
		m.numbers = append(m.numbers, make([]uint64, s.count))
	}
	q, err := newQueue(cursors)
	if err != nil {
		return err
	}
	ids := newDocumentWriter(m.w, idsPerBlock)
	for {
		source, ok := q.first()
		if !ok {
			break
		}
		c := cursors[source]
		if drop := m.drops[source]; drop != nil && drop.Contains(c.number) {
			m.numbers[source][c.number] = dropped
		} else {
			m.numbers[source][c.number] = uint64(len(m.origins))
			m.origins = append(m.origins, origin{uint32(source), c.number})
			ids.addID(c.key())
		}
		if err := q.advance(); err != nil {
			return err
		}
		if err := m.step(); err != nil {
			return err
		}
	}
	if len(m.origins) > math.MaxUint32 {
		return fmt.Errorf("%d documents are more than a segment has", len(m.origins))
	}
	m.w.number(uint64(len(m.origins)))
	ids.end()
	return nil
}

// mergeStored writes what is stored of documents. Fields have other numbers in the new segment.
func (m *merger) mergeStored() error {
	stored := newDocumentWriter(m.w, storedPerBlock)
	var copied []byte
	for _, o := range m.origins {
		s, places := m.sources[o.source], m.places[o.source]
		record, err := s.record(uint64(o.number))
		if err != nil {
			return err
		}
		copied = copied[:0]
		if err := s.visitRecord(record, func(field int, value []byte) bool {
			copied = appendStored(copied, places[field], value)
			return true
		}); err != nil {
			return err
		}
		stored.addRecord(copied)
		if err := m.step(); err != nil {
			return err
		}
	}
	stored.end()
	return nil
}

// mergeValues writes the values of a field.
func (m *merger) mergeValues(name string) error {
	width := 0
	for _, s := range m.sources {
		if f := s.field(name); f != nil && f.width > 0 {
			if width > 0 && uint64(width) != f.width {
				return fmt.Errorf("values of field %q have %d and %d bytes", name, width, f.width)
			}
			width = int(f.width)
		}
	}
	missing := bytes.Repeat([]byte{absent}, width)
	m.w.number(uint64(width))
	m.w.number(m.w.at)
	if width == 0 {
		return nil
	}
	for _, o := range m.origins {
		value, err := m.sources[o.source].Value(name, uint64(o.number))
		if err != nil {
			return err
		}
		if value == nil {
			value = missing
		}
		m.w.write(value)
		if err := m.step(); err != nil {
			return err
		}
	}
	return nil
}

// mergeTerms writes the terms of a field that documents of the new segment have.
func (m *merger) mergeTerms(name string) error {
	cursors := make([]*Iterator, len(m.sources))
	for k, s := range m.sources {
		var err error
		if cursors[k], err = s.Terms(name).Iterator(nil, nil, nil); err != nil {
			return err
		}
	}
	q, err := newQueue(cursors)
	if err != nil {
		return err
	}
	terms := newTermWriter(m.w)
	var term []byte
	var documents, read []uint32
	for {
		source, ok := q.first()
		if !ok {
			break
		}
		term, documents = append(term[:0], cursors[source].key()...), documents[:0]
		parts := 0
		for ok && bytes.Equal(cursors[source].key(), term) {
			if read, err = cursors[source].documents(read[:0]); err != nil {
				return err
			}
			documents = m.renumbered(documents, read, source)
			parts++
			if err := q.advance(); err != nil {
				return err
			}
			source, ok = q.first()
		}
		if len(documents) > 0 {
			if parts > 1 {
				documents = m.sort(documents)
			}
			terms.add(term, documents)
		}
		if err := m.step(); err != nil {
			return err
		}
	}
	terms.end()
	return nil
}

// renumbered appends the new numbers of documents that are not dropped.
func (m *merger) renumbered(to, documents []uint32, source int) []uint32 {
	numbers := m.numbers[source]
	for _, d := range documents {
		if n := numbers[d]; n != dropped {
			to = append(to, uint32(n))
		}
	}
	return to
}

// wordsPerDocument is for how many words of a set of all documents, each of 64 documents, it takes less time to look through them than to sort one more document.
const wordsPerDocument = 16

// sort sorts documents, and has each once: by comparing them, or if they are many, by a set.
func (m *merger) sort(documents []uint32) []uint32 {
	if len(documents)*wordsPerDocument < len(m.set) {
		slices.Sort(documents)
		return slices.Compact(documents)
	}
	for _, d := range documents {
		m.set[d/64] |= 1 << (d % 64)
	}
	documents = documents[:0]
	for i, word := range m.set {
		if word == 0 {
			continue
		}
		for ; word != 0; word &= word - 1 {
			documents = append(documents, uint32(64*i+bits.TrailingZeros64(word)))
		}
		m.set[i] = 0
	}
	return documents
}
