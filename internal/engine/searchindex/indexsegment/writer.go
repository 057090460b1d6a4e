package indexsegment

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// writer writes a segment. Its methods return no errors: finish returns the first one.
type writer struct {
	to    io.Writer
	at    uint64
	sum   uint32
	err   error
	table []byte // for the end
}

func newWriter(to io.Writer) *writer {
	w := &writer{to: to}
	w.write([]byte(magic))
	return w
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.at, w.sum = w.at+uint64(len(b)), crc32.Update(w.sum, checksums, b)
}

// number appends a number to the table.
func (w *writer) number(v uint64) { w.table = binary.AppendUvarint(w.table, v) }

// name appends a name to the table.
func (w *writer) name(name string) {
	w.number(uint64(len(name)))
	w.table = append(w.table, name...)
}

// finish writes the end of the segment, and returns its size.
func (w *writer) finish() (size uint64, err error) {
	end := binary.LittleEndian.AppendUint32(w.table, uint32(len(w.table)))
	w.write(append(end, magic...))
	w.write(binary.LittleEndian.AppendUint32(nil, w.sum))
	return w.at, w.err
}

// values writes the values of a field, all of the same width.
func (w *writer) values(width int, values []byte) {
	w.number(uint64(width))
	w.number(w.at)
	w.write(values)
}

// blockWriter writes blocks.
type blockWriter struct {
	w    *writer
	from uint64
	ends []byte
}

func (b *blockWriter) begin(w *writer) { b.w, b.from, b.ends = w, w.at, b.ends[:0] }

func (b *blockWriter) add(parts ...[]byte) {
	for _, p := range parts {
		b.w.write(p)
	}
	b.ends = binary.LittleEndian.AppendUint64(b.ends, b.w.at-b.from)
}

// end writes where the blocks end, and adds them to the table.
func (b *blockWriter) end() {
	b.w.number(b.w.at - b.from)
	b.w.number(uint64(len(b.ends) / 8))
	b.w.number(b.from)
	b.w.write(b.ends)
}

// documentWriter makes blocks of ids, or of what is stored of documents.
type documentWriter struct {
	blocks            blockWriter
	block, last       []byte
	inBlock, perBlock int
}

func newDocumentWriter(w *writer, perBlock int) *documentWriter {
	d := &documentWriter{perBlock: perBlock}
	d.blocks.begin(w)
	return d
}

func (d *documentWriter) addID(id []byte) {
	d.block = appendKey(d.block, d.last, id, false)
	d.last = append(d.last[:0], id...)
	d.added()
}

func (d *documentWriter) addRecord(record []byte) {
	d.block = append(binary.AppendUvarint(d.block, uint64(len(record))), record...)
	d.added()
}

func (d *documentWriter) added() {
	if d.inBlock++; d.inBlock == d.perBlock {
		d.flush()
	}
}

func (d *documentWriter) flush() {
	if d.inBlock > 0 {
		d.blocks.add(d.block)
		d.inBlock, d.block, d.last = 0, d.block[:0], d.last[:0]
	}
}

func (d *documentWriter) end() {
	d.flush()
	d.blocks.end()
}

// appendStored appends a stored field to the record of a document.
func appendStored(record []byte, field int, value []byte) []byte {
	record = binary.AppendUvarint(record, uint64(field))
	record = binary.AppendUvarint(record, uint64(len(value)))
	return append(record, value...)
}

// termWriter makes blocks of terms, which are added in their order.
type termWriter struct {
	blocks  blockWriter
	entries []byte
	lists   []byte
	head    [binary.MaxVarintLen64]byte
	inBlock int
	last    []byte
}

// add adds a term with its documents, of which there is one at least.
func (w *termWriter) add(term []byte, documents []uint32) {
	if w.inBlock == termsPerBlock {
		w.flush()
	}
	w.inBlock++
	single := len(documents) == 1
	w.entries = appendKey(w.entries, w.last, term, !single)
	w.last = append(w.last[:0], term...)
	if single {
		w.entries = binary.AppendUvarint(w.entries, uint64(documents[0]))
		return
	}
	from, encoding := len(w.lists), 0
	w.lists, encoding = appendDocuments(w.lists, documents)
	w.entries = binary.AppendUvarint(w.entries, uint64(len(w.lists)-from)<<encodingBits|uint64(encoding))
}

func (w *termWriter) flush() {
	if w.inBlock == 0 {
		return
	}
	n := binary.PutUvarint(w.head[:], uint64(len(w.entries)))
	w.blocks.add(w.head[:n], w.entries, w.lists)
	w.inBlock, w.entries, w.lists, w.last = 0, w.entries[:0], w.lists[:0], w.last[:0]
}

func newTermWriter(w *writer) *termWriter {
	t := &termWriter{}
	t.blocks.begin(w)
	return t
}

func (w *termWriter) end() {
	w.flush()
	w.blocks.end()
}
