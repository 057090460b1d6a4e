package indexsegment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Segment reads a segment. What it returns is valid until the engine closes the segment.
type Segment struct {
	data   []byte
	count  uint32
	ids    blocks
	stored blocks
	fields []field // by their names
	lastID []byte

	references atomic.Int64
	release    func() error // called with the last reference; or nil
}

// field is a field of a segment.
type field struct {
	name       string
	terms      blocks
	vocabulary *vocabulary // of the terms
	width      uint64      // of the values; 0: it has none
	values     []byte
}

// Of returns the Segment of a segment that the engine has.
func Of(s segment.Segment) (*Segment, error) {
	switch s := s.(type) {
	case *memorySegment:
		return s.Segment, nil
	case *fileSegment:
		return s.Segment, nil
	}
	return nil, fmt.Errorf("indexsegment: a segment is %T, which another form has", s)
}

// checkSum compares the checksum of a file with its content.
func checkSum(data []byte) error {
	if len(data) < len(magic)+trailerLen {
		return damaged("it has %d bytes", len(data))
	}
	end := len(data) - 4
	if crc32.Checksum(data[:end], checksums) != binary.LittleEndian.Uint32(data[end:]) {
		return damaged("the checksum does not match")
	}
	return nil
}

// parse reads the table at the end of a segment.
func parse(data []byte) (*Segment, error) {
	if len(data) < len(magic)+trailerLen || string(data[:len(magic)]) != magic {
		return nil, damaged("it does not begin with %s", magic)
	}
	trailer := data[len(data)-trailerLen:]
	if string(trailer[4:4+len(magic)]) != magic {
		return nil, damaged("it does not end with %s", magic)
	}
	body := data[:len(data)-trailerLen]
	size := uint64(binary.LittleEndian.Uint32(trailer))
	if size > uint64(len(body)-len(magic)) {
		return nil, damaged("the table has %d bytes", size)
	}
	table := input{rest: body[uint64(len(body))-size:]}
	s := &Segment{data: data}
	s.references.Store(1)
	if err := s.readTable(&table, body[:uint64(len(body))-size]); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Segment) readTable(table *input, body []byte) error {
	s.count = uint32(table.uvarint(math.MaxUint32))
	s.ids, s.stored = readBlocks(table, body), readBlocks(table, body)
	if table.err == nil && (s.ids.count() != blocksOf(s.count, idsPerBlock) || s.stored.count() != blocksOf(s.count, storedPerBlock)) {
		return damaged("%d documents are in %d and %d blocks", s.count, s.ids.count(), s.stored.count())
	}
	for range table.length() {
		f := field{name: string(table.bytes(table.length())), vocabulary: &vocabulary{}}
		f.terms = readBlocks(table, body)
		f.width = table.uvarint(maxWidth)
		f.values = readSection(table, body, f.width*uint64(s.count))
		if table.err != nil {
			return table.err
		}
		if n := len(s.fields); n > 0 && s.fields[n-1].name >= f.name {
			return damaged("field %q comes before %q", s.fields[n-1].name, f.name)
		}
		s.fields = append(s.fields, f)
	}
	if table.err != nil || len(table.rest) > 0 {
		return damaged("the table has %d bytes behind its end (%v)", len(table.rest), table.err)
	}
	if s.count == 0 {
		return nil
	}
	last, err := s.DocID(uint64(s.count - 1))
	s.lastID = last
	return err
}

func blocksOf(count uint32, perBlock int) int {
	return int((uint64(count) + uint64(perBlock) - 1) / uint64(perBlock))
}

// readSection reads from the table where a section of a size begins.
func readSection(table *input, body []byte, size uint64) []byte {
	at := table.uvarint(uint64(len(body)))
	if table.err == nil && size > uint64(len(body))-at {
		table.err = damaged("a section of %d bytes is at %d of %d", size, at, len(body))
	}
	if table.err != nil {
		return nil
	}
	return body[at : at+size : at+size]
}

// readBlocks reads from the table where blocks begin, how many bytes they have, and how many they are: the ends of all follow them.
func readBlocks(table *input, body []byte) blocks {
	size, count := table.uvarint(uint64(len(body))), table.uvarint(uint64(len(body)))
	all := readSection(table, body, size+8*count)
	if table.err != nil {
		return blocks{}
	}
	return blocks{data: all[:size:size], ends: all[size:]}
}

// Count returns the number of documents, with those that were deleted.
func (s *Segment) Count() uint64 { return uint64(s.count) }

// Fields returns the names of the fields.
func (s *Segment) Fields() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return names
}

// field returns a field, or nil.
func (s *Segment) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *Segment) checkNumber(number uint64) error {
	if number >= uint64(s.count) {
		return fmt.Errorf("indexsegment: there is no document %d of %d", number, s.count)
	}
	return nil
}

// DocID returns the id of a document.
func (s *Segment) DocID(number uint64) ([]byte, error) {
	if err := s.checkNumber(number); err != nil {
		return nil, err
	}
	block, err := s.ids.block(int(number / idsPerBlock))
	if err != nil {
		return nil, err
	}
	var ids keyReader
	ids.start(block)
	for range number%idsPerBlock + 1 {
		if !ids.next() {
			return nil, cmp.Or(ids.err, damaged("document %d has no id", number))
		}
	}
	return ids.key, nil
}

// DocNumbers returns the numbers of the documents that have one of some ids.
func (s *Segment) DocNumbers(ids []string) (*roaring.Bitmap, error) {
	found := roaring.New()
	if s.count == 0 {
		return found, nil
	}
	c := idCursor{segment: s}
	for _, id := range ids {
		if id > string(s.lastID) {
			continue
		}
		key := []byte(id)
		block, err := s.ids.before(key, 0, s.ids.count(), func(block []byte) ([]byte, error) { return block, nil })
		if err != nil {
			return nil, err
		}
		for c.seek(block); c.next(); {
			if order := bytes.Compare(c.key(), key); order > 0 {
				break
			} else if order == 0 {
				found.Add(c.number)
			}
		}
		if c.err() != nil {
			return nil, c.err()
		}
	}
	return found, nil
}

// idCursor reads ids in their order.
type idCursor struct {
	segment *Segment
	keys    keyReader
	block   int // the next one
	number  uint32
	after   uint32 // the number of the next document
}

func (c *idCursor) seek(block int) {
	c.keys.start(nil)
	c.block, c.after = block, uint32(block*idsPerBlock)
}

func (c *idCursor) next() bool {
	if c.after >= c.segment.count || c.keys.err != nil {
		return false
	}
	if c.after%idsPerBlock == 0 {
		block, err := c.segment.ids.block(c.block)
		c.keys.start(block)
		c.keys.err = err
		c.block++
	}
	if !c.keys.next() {
		c.keys.err = cmp.Or(c.keys.err, damaged("document %d has no id", c.after))
		return false
	}
	c.number, c.after = c.after, c.after+1
	return true
}

func (c *idCursor) key() []byte { return c.keys.key }
func (c *idCursor) err() error  { return c.keys.err }

// Values are those of the documents of a segment in a field.
type Values struct {
	segment *Segment
	width   uint64 // 0: there are none
	values  []byte
}

// Values returns the values in a field; none if the segment has no such field.
func (s *Segment) Values(name string) Values {
	if f := s.field(name); f != nil {
		return Values{s, f.width, f.values}
	}
	return Values{segment: s}
}

// Of returns the value of a document; nil: it has none.
func (v Values) Of(number uint64) ([]byte, error) {
	if err := v.segment.checkNumber(number); err != nil || v.width == 0 {
		return nil, err
	}
	if value := v.values[number*v.width : (number+1)*v.width]; value[0] != absent {
		return value, nil
	}
	return nil, nil
}

// Value returns the value of a document in a field; nil: it has none.
func (s *Segment) Value(name string, number uint64) ([]byte, error) { return s.Values(name).Of(number) }

// absent is the first byte of a value that a document does not have.
const absent = 0xff

// record returns the stored fields of a document.
func (s *Segment) record(number uint64) ([]byte, error) {
	if err := s.checkNumber(number); err != nil {
		return nil, err
	}
	block, err := s.stored.block(int(number / storedPerBlock))
	if err != nil {
		return nil, err
	}
	in := input{rest: block}
	for range number % storedPerBlock {
		in.bytes(in.length())
	}
	record := in.bytes(in.length())
	return record, in.err
}

// visitRecord calls a function with the fields of a record, until it returns false.
func (s *Segment) visitRecord(record []byte, visit func(field int, value []byte) bool) error {
	for in := (input{rest: record}); len(in.rest) > 0; {
		field := in.length()
		value := in.bytes(in.length())
		if in.err == nil && field >= uint64(len(s.fields)) {
			in.err = damaged("a document has field %d of %d", field, len(s.fields))
		}
		if in.err != nil {
			return in.err
		}
		if !visit(int(field), value) {
			return nil
		}
	}
	return nil
}

// Stored returns what is stored of a document in a field; nil: nothing.
func (s *Segment) Stored(name string, number uint64) (value []byte, err error) {
	record, err := s.record(number)
	if err != nil {
		return nil, err
	}
	err = s.visitRecord(record, func(field int, v []byte) bool {
		if s.fields[field].name == name {
			value = v
		}
		return value == nil
	})
	return value, err
}

// VisitStoredFields calls a function with what is stored of a document, until it returns false. The id is not among that.
func (s *Segment) VisitStoredFields(number uint64, visit segment.StoredFieldValueVisitor) error {
	record, err := s.record(number)
	if err != nil {
		return err
	}
	return s.visitRecord(record, func(field int, value []byte) bool { return visit(s.fields[field].name, 't', slices.Clone(value), nil) })
}

// Dictionary fails: queries of the engine itself are not supported. Terms are read by Terms.
func (s *Segment) Dictionary(string) (segment.TermDictionary, error) {
	return nil, fmt.Errorf("indexsegment: queries of the engine are not supported; read terms with Segment.Terms")
}

// Size returns how many bytes of memory a segment has, without the file.
func (s *Segment) Size() int { return 200 + 120*len(s.fields) }

// BytesRead is not counted.
func (s *Segment) BytesRead() uint64 { return 0 }

// ResetBytesRead does nothing.
func (s *Segment) ResetBytesRead(uint64) {}

// BytesWritten is not counted.
func (s *Segment) BytesWritten() uint64 { return 0 }

// AddRef adds a reference. The engine does so for each user.
func (s *Segment) AddRef() { s.references.Add(1) }

// DecRef removes a reference. With the last one, the file is closed.
func (s *Segment) DecRef() error {
	if s.references.Add(-1) == 0 && s.release != nil {
		return s.release()
	}
	return nil
}

// Close is DecRef.
func (s *Segment) Close() error { return s.DecRef() }
