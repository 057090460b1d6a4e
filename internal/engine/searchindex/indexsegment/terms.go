package indexsegment

import (
	"bytes"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Terms are the terms of a field of a segment, in the order of their bytes.
type Terms struct {
	blocks blocks
	count  uint32 // of documents
}

// Terms returns the terms of a field; none if the segment has no such field.
func (s *Segment) Terms(name string) Terms {
	if f := s.field(name); f != nil {
		return Terms{f.terms, s.count}
	}
	return Terms{}
}

// splitBlock divides a block into its terms and its lists.
func splitBlock(block []byte) (terms, lists []byte, err error) {
	in := input{rest: block}
	terms = in.bytes(in.length())
	return terms, in.rest, in.err
}

func termsOf(block []byte) (terms []byte, err error) {
	terms, _, err = splitBlock(block)
	return terms, err
}

// AddDocuments adds the documents that have a term to a set.
func (t Terms) AddDocuments(to *roaring.Bitmap, term []byte) error {
	i, err := t.iterator(nil, term, nil)
	if err != nil {
		return err
	}
	if i.Next() && bytes.Equal(i.Term(), term) {
		return i.AddDocuments(to)
	}
	return i.Err()
}

// Iterator returns the terms from one on and before another that an automaton accepts, in their order. Without an automaton, it returns all of them; without an end, all to the last one.
func (t Terms) Iterator(automaton segment.Automaton, from, end []byte) (*Iterator, error) {
	i, err := t.iterator(automaton, from, end)
	return &i, err
}

func (t Terms) iterator(automaton segment.Automaton, from, end []byte) (i Iterator, err error) {
	i = Iterator{terms: t, automaton: automaton, end: end, from: from}
	if automaton != nil {
		i.states = append(i.states, automaton.Start())
	}
	if len(from) > 0 {
		i.block, err = t.blocks.before(from, 0, termsOf)
	}
	return i, err
}

// Iterator reads terms. It begins before the first one.
type Iterator struct {
	terms     Terms
	automaton segment.Automaton
	from, end []byte

	block int // the next one
	keys  keyReader
	lists []byte // of this term and of those behind it in the block
	// list and form are the documents of this term; or it has one document.
	list     []byte
	form     int
	document uint32
	// states[k] is the state of the automaton after k bytes of the key. No term that begins with the first dead bytes of the key matches; 0: unknown.
	states []int
	dead   int
}

// Next goes to the next term. It returns false at the end, and after an error.
func (i *Iterator) Next() bool {
	for i.advance() {
		if len(i.from) > 0 {
			if bytes.Compare(i.keys.key, i.from) < 0 {
				continue
			}
			i.from, i.keys.shared = nil, 0 // the automaton has read no key yet
		}
		if i.end != nil && bytes.Compare(i.keys.key, i.end) >= 0 {
			i.block, i.keys.rest = i.terms.blocks.count(), nil
			return false
		}
		if i.automaton == nil || i.accepted() {
			return true
		}
	}
	return false
}

// accepted reports whether the automaton accepts the key.
func (i *Iterator) accepted() bool {
	if i.dead > 0 && i.keys.shared >= i.dead {
		return false
	}
	i.dead = 0
	i.states = i.states[:min(len(i.states), i.keys.shared+1)]
	state := i.states[len(i.states)-1]
	for _, c := range i.keys.key[len(i.states)-1:] {
		if state = i.automaton.Accept(state, c); !i.automaton.CanMatch(state) {
			i.dead = len(i.states)
			return false
		}
		i.states = append(i.states, state)
	}
	return i.automaton.IsMatch(state)
}

// advance reads the next term, whether it matches or not.
func (i *Iterator) advance() bool {
	for !i.keys.next() {
		if i.keys.err != nil || !i.nextBlock() {
			return false
		}
	}
	if !i.keys.mark {
		i.list, i.document = nil, uint32(i.keys.uvarint(math.MaxUint32))
		if i.keys.err == nil && i.document >= i.terms.count {
			i.keys.err = damaged("a term has document %d of %d", i.document, i.terms.count)
		}
		return i.keys.err == nil
	}
	size := i.keys.uvarint(math.MaxInt32 << formBits)
	i.form = int(size & (1<<formBits - 1))
	size >>= formBits
	if i.keys.err == nil && (size > uint64(len(i.lists)) || size == 0) {
		i.keys.err = damaged("a list has %d of %d bytes", size, len(i.lists))
	}
	if i.keys.err != nil {
		return false
	}
	i.list, i.lists = i.lists[:size:size], i.lists[size:]
	return true
}

// nextBlock begins the next block, or a later one if no term before that can match.
func (i *Iterator) nextBlock() bool {
	if i.block >= i.terms.blocks.count() {
		return false
	}
	if i.dead > 0 {
		after, ok := successor(i.keys.key[:i.dead])
		if !ok {
			i.block = i.terms.blocks.count()
			return false
		}
		if i.block, i.keys.err = i.terms.blocks.before(after, i.block, termsOf); i.keys.err != nil {
			return false
		}
	}
	block, err := i.terms.blocks.block(i.block)
	if err == nil {
		block, i.lists, err = splitBlock(block)
	}
	if err == nil && len(block) == 0 {
		err = damaged("block %d has no term", i.block)
	}
	if i.keys.start(block); err != nil {
		i.keys.err = err
		return false
	}
	i.block++
	return true
}

// successor returns the first key behind all that begin with a prefix. ok: there is one.
func successor(prefix []byte) (key []byte, ok bool) {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] < 0xff {
			key = append(key, prefix[:n]...)
			key[n-1]++
			return key, true
		}
	}
	return nil, false
}

// Err returns why Next has returned false; nil at the end.
func (i *Iterator) Err() error { return i.keys.err }

// Term returns the term. It is valid until Next.
func (i *Iterator) Term() []byte { return i.keys.key }

// AddDocuments adds the documents that have the term to a set.
func (i *Iterator) AddDocuments(to *roaring.Bitmap) error {
	if i.list == nil {
		to.Add(i.document)
		return nil
	}
	return addDocuments(to, i.list, i.form, i.terms.count)
}

// documents appends the documents that have the term.
func (i *Iterator) documents(to []uint32) ([]uint32, error) {
	if i.list == nil {
		return append(to, i.document), nil
	}
	return readDocuments(to, i.list, i.form, i.terms.count)
}
