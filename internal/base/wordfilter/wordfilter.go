// Package wordfilter finds the words of a list in texts, even if they are disguised.
//
// Texts and words are compared in a folded form (fold.go): in lower case, without diacritics, with compatibility forms and look-alike letters of other scripts
// replaced by Latin ones, in simplified Chinese characters, and without all characters that are neither letters nor digits. All words are searched at once (Aho-Corasick), in time linear in the text.
//
// The characters between the letters of a match decide whether it counts. There may be nothing, or only invisible characters; something between each two letters, as in s.p.a.m; or, in a word
// with Chinese characters, anything. So a match may not span two words, as in "push it".
//
// A Filter is immutable, and safe for concurrent use.
package wordfilter

import (
	"errors"
	"fmt"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/coregx/ahocorasick"
)

// Limits of a list. The automaton takes half a KiB for each byte of the folded words, or one with words of many scripts.
const (
	MaxWords = 10_000
	MaxBytes = 100_000 // of all folded words
	MaxWord  = 64      // characters
)

// Word of a list.
type Word struct {
	Text string
	// Whole: letters and digits before or after it make it another word.
	Whole bool
}

// Errors of lists.
var (
	ErrTooMany = errors.New("a filter has at most 10,000 words, which have 100,000 bytes together")
	errEmpty   = errors.New("has neither a letter nor a digit")
	errLong    = fmt.Errorf("has more than %d characters", MaxWord)
)

// Check returns why a text cannot be a word.
func Check(text string) error {
	if utf8.RuneCountInString(text) > MaxWord {
		return errLong
	}
	if len(foldWord(text)) == 0 {
		return errEmpty
	}
	return nil
}

// Size returns the bytes of a folded word.
func Size(text string) int { return len(foldWord(text)) }

// entry is a word as it is searched.
type entry struct {
	whole bool
	han   bool
	runes int
}

// Filter finds words. A nil one finds none.
type Filter struct {
	words   []entry
	search  *ahocorasick.Automaton
	folds   *foldTable
	buffers sync.Pool // of *[]byte
}

// New returns a filter of words, or nil for none.
func New(words []Word) (*Filter, error) {
	if len(words) == 0 {
		return nil, nil
	}
	if len(words) > MaxWords {
		return nil, ErrTooMany
	}
	f := &Filter{words: make([]entry, len(words)), folds: newFoldTable(), buffers: sync.Pool{New: func() any { return new([]byte) }}}
	patterns, size := make([][]byte, len(words)), 0
	for i, w := range words {
		if err := Check(w.Text); err != nil {
			return nil, fmt.Errorf("word %d: %w", i+1, err)
		}
		patterns[i] = foldWord(w.Text)
		size += len(patterns[i])
		f.words[i] = entry{whole: w.Whole, runes: utf8.RuneCount(patterns[i])}
		for _, r := range string(patterns[i]) {
			f.words[i].han = f.words[i].han || unicode.Is(unicode.Han, r)
		}
	}
	if size > MaxBytes {
		return nil, ErrTooMany
	}
	var err error
	f.search, err = ahocorasick.NewBuilder().AddPatterns(patterns).Build()
	return f, err
}

// Find calls found for each word in a text, by its index in the list, until it returns false. A word may be found several times.
func (f *Filter) Find(text string, found func(word int) bool) {
	if f == nil {
		return
	}
	buffer := f.buffers.Get().(*[]byte)
	defer f.buffers.Put(buffer)
	*buffer = f.folds.appendFolded((*buffer)[:0], text)
	if !f.search.IsMatch(*buffer) {
		return
	}
	gaps := f.folds.gaps(text, len(*buffer))
	for _, m := range f.search.FindAllOverlapping(*buffer) {
		if f.words[m.PatternID].counts(gaps, m.Start, m.End) && !found(int(m.PatternID)) {
			return
		}
	}
}

// counts reports whether a match from one byte to another is the word, by the gaps before each byte of the folded text.
func (e entry) counts(gaps []bool, start, end int) bool {
	if e.whole && (!gaps[start] || !gaps[end]) {
		return false
	}
	inside := 0
	for _, gap := range gaps[start+1 : end] {
		if gap {
			inside++
		}
	}
	return inside == 0 || e.han || inside == e.runes-1
}
