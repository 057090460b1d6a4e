package indexsegment

import (
	"bytes"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Terms are the terms of a field of a segment, in the order of their bytes.
type Terms struct {
	blocks     blocks
	count      uint32      // of documents
	vocabulary *vocabulary // nil: there are none
}

// Terms returns the terms of a field; none if the segment has no such field.
func (s *Segment) Terms(name string) Terms {
	if f := s.field(name); f != nil {
		return Terms{f.terms, s.count, f.vocabulary}
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
	i = Iterator{terms: t, automaton: automaton, end: end, lowerBound: from}
	if automaton != nil {
		i.states = append(i.states, automaton.Start())
	}
	if len(from) > 0 {
		i.block, err = t.blocks.before(from, 0, t.blocks.count(), termsOf)
	}
	return i, err
}

// Iterator reads terms. It begins before the first one.
type Iterator struct {
	terms     Terms
	automaton segment.Automaton
	end       []byte

	block int // the next one
	keys  keyReader
	lists []byte // of this term and of those behind it in the block
	// list has the postings of this term in an encoding. If it is nil, the term has one posting, document.
	list     []byte
	encoding int
	document uint32
	// No term below lowerBound matches. scratch is the memory of those that skip finds.
	lowerBound, scratch []byte
	// states[k] is the state of the automaton after k bytes of a key. The first validStates of them after states[0] are those of the present key.
	states      []int
	validStates int
}

// Next goes to the next term. It returns false at the end, and after an error.
func (i *Iterator) Next() bool {
	for i.advance() {
		if len(i.lowerBound) > 0 {
			if bytes.Compare(i.keys.key, i.lowerBound) < 0 {
				continue
			}
			i.lowerBound = nil
		}
		if i.end != nil && bytes.Compare(i.keys.key, i.end) >= 0 {
			i.finish()
			return false
		}
		if i.automaton == nil || i.accepted() {
			return true
		}
	}
	return false
}

// finish goes behind the last term.
func (i *Iterator) finish() { i.block, i.keys.rest = i.terms.blocks.count(), nil }

// accepted reports whether the automaton accepts the key. If it accepts no key with a prefix of this one, accepted skips to the next key that it may accept.
func (i *Iterator) accepted() bool {
	i.states = i.states[:i.validStates+1]
	state := i.states[i.validStates]
	for _, c := range i.keys.key[i.validStates:] {
		if state = i.automaton.Accept(state, c); !i.automaton.CanMatch(state) {
			i.skip()
			return false
		}
		i.states = append(i.states, state)
		i.validStates++
	}
	return i.automaton.IsMatch(state)
}

// skip sets lowerBound to the lowest key that the automaton may accept, above all keys with the prefix of the present key that it has rejected.
func (i *Iterator) skip() {
	for n := i.validStates; n >= 0; n-- {
		for c := int(i.keys.key[n]) + 1; c <= 0xff; c++ {
			if i.automaton.CanMatch(i.automaton.Accept(i.states[n], byte(c))) {
				i.scratch = append(append(i.scratch[:0], i.keys.key[:n]...), byte(c))
				i.lowerBound = i.scratch
				return
			}
		}
	}
	i.finish()
}

// advance reads the next term, whether it matches or not.
func (i *Iterator) advance() bool {
	for !i.keys.next() {
		if i.keys.err != nil || !i.nextBlock() {
			return false
		}
	}
	i.validStates = min(i.validStates, i.keys.shared)
	if !i.keys.mark {
		i.list, i.document = nil, uint32(i.keys.uvarint(math.MaxUint32))
		if i.keys.err == nil && i.document >= i.terms.count {
			i.keys.err = damaged("a term has document %d of %d", i.document, i.terms.count)
		}
		return i.keys.err == nil
	}
	size := i.keys.uvarint(math.MaxInt32 << encodingBits)
	i.encoding = int(size & (1<<encodingBits - 1))
	size >>= encodingBits
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
	if len(i.lowerBound) > 0 {
		if i.block, i.keys.err = i.terms.blocks.beforeNear(i.lowerBound, i.block, termsOf); i.keys.err != nil {
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
	return addDocuments(to, i.list, i.encoding, i.terms.count)
}

// documents appends the documents that have the term.
func (i *Iterator) documents(to []uint32) ([]uint32, error) {
	if i.list == nil {
		return append(to, i.document), nil
	}
	return readDocuments(to, i.list, i.encoding, i.terms.count)
}
