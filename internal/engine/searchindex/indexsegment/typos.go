package indexsegment

import (
	"math/bits"
	"sync"
	"unicode/utf8"
)

const (
	// maxLetters is how many different characters the terms of a field may have for Typos.
	maxLetters = 1000
	// A filter has about filterBits bits for each term, in blocks of a line of the cache, and each term sets bitsOfTerm of a block. So about one of a hundred words that are no terms is admitted.
	filterBits   = 12
	bitsOfTerm   = 6
	wordsOfBlock = 8
)

// vocabulary says of most words that they are no terms of a field, without reading its blocks, and which characters its terms have. It is a Bloom filter, which is made when it is first needed.
type vocabulary struct {
	once    sync.Once
	err     error
	blocks  [][wordsOfBlock]uint64 // none if there are too many letters
	letters []rune                 // each once, in the order of the terms
}

// rolling is a hash of a word that is computed letter by letter, so that those of words that differ by one letter share their parts: the letters are the digits of a number to this base.
const rolling = 0x9e3779b97f4a7c15

// spread makes of a rolling hash one whose bits all depend on all of it.
func spread(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// place returns the block of a hash, and its bits in six digits of nine bits each.
func (v *vocabulary) place(hash uint64) (block *[wordsOfBlock]uint64, digits uint64) {
	hash = spread(hash)
	high, low := bits.Mul64(hash, uint64(len(v.blocks)))
	return &v.blocks[high], spread(low)
}

func (v *vocabulary) add(hash uint64) {
	block, digits := v.place(hash)
	for range bitsOfTerm {
		block[digits>>6&(wordsOfBlock-1)] |= 1 << (digits & 63)
		digits >>= 9
	}
}

// mayHave reports whether a word with a rolling hash may be a term.
func (v *vocabulary) mayHave(hash uint64) bool {
	block, digits := v.place(hash)
	for range bitsOfTerm {
		if block[digits>>6&(wordsOfBlock-1)]&(1<<(digits&63)) == 0 {
			return false
		}
		digits >>= 9
	}
	return true
}

// read makes the filter.
func (v *vocabulary) read(t Terms) error {
	v.blocks = make([][wordsOfBlock]uint64, 1+t.blocks.count()*termsPerBlock*filterBits/(64*wordsOfBlock))
	known := map[rune]bool{}
	var ascii [utf8.RuneSelf]bool
	all, err := t.iterator(nil, nil, nil)
	if err != nil {
		return err
	}
	for all.Next() {
		hash := uint64(0)
		for _, r := range string(all.Term()) {
			hash = hash*rolling + uint64(r)
			switch {
			case r < utf8.RuneSelf && ascii[r], r >= utf8.RuneSelf && known[r]:
				continue
			case r < utf8.RuneSelf:
				ascii[r] = true
			default:
				known[r] = true
			}
			if v.letters = append(v.letters, r); len(v.letters) > maxLetters {
				v.blocks, v.letters = nil, nil
				return nil
			}
		}
		v.add(hash)
	}
	return all.Err()
}

// Typos returns words, of which all terms are that differ from a word by one typo: a character that is missing, added or replaced, or two neighbours that are exchanged. Some of them are no terms: about one of a hundred words
// that were considered, and those are some for each character of the terms. ok: there are not too many characters for that.
func (t Terms) Typos(word string) (candidates []string, ok bool, err error) {
	v := t.vocabulary
	if v == nil {
		return nil, true, nil
	}
	v.once.Do(func() { v.err = v.read(t) })
	if v.err != nil || v.blocks == nil {
		return nil, false, v.err
	}
	e := newEdits([]rune(word))
	n := len(e.word)
	for k := range n {
		if (k == 0 || e.word[k] != e.word[k-1]) && v.mayHave(e.hash(k, k+1)) { // else it is the same without the one before
			candidates = append(candidates, e.replaced(k, k+1))
		}
		if k+1 < n && e.word[k] != e.word[k+1] && v.mayHave(e.hash(k, k+2, e.word[k+1], e.word[k])) {
			candidates = append(candidates, e.replaced(k, k+2, e.word[k+1], e.word[k]))
		}
	}
	for k := range n + 1 {
		for _, c := range v.letters {
			if k < n && c != e.word[k] && v.mayHave(e.hash(k, k+1, c)) {
				candidates = append(candidates, e.replaced(k, k+1, c))
			}
			if (k == 0 || c != e.word[k-1]) && v.mayHave(e.hash(k, k, c)) { // else it is the same with the letter before
				candidates = append(candidates, e.replaced(k, k, c))
			}
		}
	}
	return candidates, true, nil
}

// edits has the hashes of the parts of a word.
type edits struct {
	word   []rune
	before []uint64 // before[k] is the hash of the first k characters
	behind []uint64 // behind[k] is that of all from the k-th on
	powers []uint64 // of rolling
}

func newEdits(word []rune) *edits {
	n := len(word)
	e := &edits{word, make([]uint64, n+1), make([]uint64, n+1), make([]uint64, n+1)}
	e.powers[0] = 1
	for k, r := range word {
		e.before[k+1], e.powers[k+1] = e.before[k]*rolling+uint64(r), e.powers[k]*rolling
	}
	for k := n - 1; k >= 0; k-- {
		e.behind[k] = uint64(word[k])*e.powers[n-1-k] + e.behind[k+1]
	}
	return e
}

// hash returns that of the word with other characters from one place to another.
func (e *edits) hash(from, to int, other ...rune) uint64 {
	h := e.before[from]
	for _, r := range other {
		h = h*rolling + uint64(r)
	}
	return h*e.powers[len(e.word)-to] + e.behind[to]
}

// replaced returns the word with other characters from one place to another.
func (e *edits) replaced(from, to int, other ...rune) string {
	return string(e.word[:from]) + string(other) + string(e.word[to:])
}
