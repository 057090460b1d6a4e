package searchindex

import (
	"slices"
	"unicode"
)

// Term is a part of a query that a document has to match.
type Term struct {
	// Word is folded, as Words returns words.
	Word string
	// Prefix: words that begin so match. Fuzzy: words with one typo match.
	Prefix, Fuzzy bool
}

// How well a word matches.
const (
	ExactMatch  = 1.0
	PrefixMatch = 0.7
	FuzzyMatch  = 0.5
)

// Pattern is the text of a query, analysed.
type Pattern struct {
	phrases [][]item
	terms   []Term
}

// item of a phrase: a word, or a run of characters.
type item struct {
	dense         bool
	runes         []rune
	prefix, fuzzy bool
}

// MaxTerms is how many terms a query may have.
const MaxTerms = 64

// NewPattern analyses the phrases of a query; a single word is a phrase as well. With typing, the last word stands for all that begin with it.
func NewPattern(phrases []string, typing bool) *Pattern {
	p := &Pattern{}
	for i, text := range phrases {
		var phrase []item
		runs := analyze(text, nil)
		for k, r := range runs {
			if !r.dense {
				r.runes = r.runes[:min(len(r.runes), maxWord)]
			}
			last := typing && i == len(phrases)-1 && k == len(runs)-1
			letters := !slices.ContainsFunc(r.runes, func(c rune) bool { return !unicode.IsLetter(c) })
			phrase = append(phrase, item{dense: r.dense, runes: r.runes, prefix: last && !r.dense && len(r.runes) >= prefixLetters, fuzzy: !r.dense && letters && len(runs) == 1 && len(r.runes) >= fuzzyLetters})
		}
		if len(phrase) > 0 {
			p.phrases = append(p.phrases, phrase)
		}
	}
	for _, phrase := range p.phrases {
		for _, i := range phrase {
			p.terms = append(p.terms, i.terms()...)
		}
	}
	return p
}

// terms returns what an index is asked for an item.
func (i *item) terms() []Term {
	if !i.dense {
		return []Term{{Word: string(i.runes), Prefix: i.prefix, Fuzzy: i.fuzzy}}
	}
	return pairs(i.runes)
}

// pairs returns what an index is asked for a run of characters that it has as pairs.
func pairs(run []rune) (list []Term) {
	if len(run) == 1 {
		return []Term{{Word: string(run), Prefix: true}}
	}
	for k := range len(run) - 1 {
		list = append(list, Term{Word: string(run[k : k+2])})
	}
	return list
}

// Terms that an index is asked for that was built without a dictionary.
func (p *Pattern) Terms() []Term { return p.terms }

// IsEmpty reports whether there is no word, so that every text matches.
func (p *Pattern) IsEmpty() bool { return len(p.phrases) == 0 }

// Range is a part of a text, in characters.
type Range struct{ Start, End int }

// Match reports whether a text matches, which needs all phrases, and which parts of it do, in their order and without overlaps. Names are ranges of the text, in
// their order, that are names of files.
func (p *Pattern) Match(text string, names ...Range) (parts []Range, ok bool) {
	if p.IsEmpty() {
		return nil, true
	}
	runs := analyze(text, names)
	for _, phrase := range p.phrases {
		found := findPhrase(phrase, runs)
		if len(found) == 0 {
			return nil, false
		}
		parts = append(parts, found...)
	}
	return merge(parts), true
}

// merge sorts ranges, and joins those that overlap or touch.
func merge(parts []Range) []Range {
	slices.SortFunc(parts, func(a, b Range) int { return a.Start - b.Start })
	var out []Range
	for _, r := range parts {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// findPhrase returns the parts of a text that match the items of a phrase one after the other.
func findPhrase(phrase []item, runs []run) (parts []Range) {
	for at := 0; at+len(phrase) <= len(runs); at++ {
		if len(phrase) == 1 {
			parts = append(parts, phrase[0].find(&runs[at])...)
			continue
		}
		first, ok := phrase[0].at(&runs[at], atEnd)
		last := span{}
		if ok {
			last, ok = phrase[len(phrase)-1].at(&runs[at+len(phrase)-1], atStart)
		}
		for k := 1; ok && k < len(phrase)-1; k++ {
			_, ok = phrase[k].at(&runs[at+k], whole)
		}
		if ok {
			parts = append(parts, Range{runs[at].start[first.from], runs[at+len(phrase)-1].end[last.to-1]})
		}
	}
	return parts
}

// place of an item of a phrase in a run.
type place int

const (
	whole place = iota
	atStart
	atEnd
)

// at returns where an item is in a run, which must be at a place.
func (i *item) at(r *run, where place) (in span, ok bool) {
	n, all := len(i.runes), span{0, len(r.runes)}
	switch {
	case i.dense != r.dense:
		return in, false
	case !i.dense:
		if i.word(r.runes) > 0 {
			return all, true
		}
		for _, p := range r.parts() {
			if (where == atStart && p.from == 0 || where == atEnd && p.to == all.to) && i.word(r.runes[p.from:p.to]) > 0 {
				return p, true
			}
		}
		return in, false
	case n > all.to:
		return in, false
	case where == atStart:
		in = span{0, n}
	case where == atEnd:
		in = span{all.to - n, all.to}
	default:
		in = all
	}
	return in, slices.Equal(r.runes[in.from:in.to], i.runes)
}

// find returns the parts of a run that match an item alone.
func (i *item) find(r *run) (parts []Range) {
	if i.dense != r.dense {
		return nil
	}
	if !i.dense {
		quality := i.word(r.runes)
		if quality < ExactMatch { // a part is nearer to what was typed than all of the word
			for _, p := range r.parts() {
				if i.word(r.runes[p.from:p.to]) > 0 {
					parts = append(parts, Range{r.start[p.from], r.end[p.to-1]})
				}
			}
		}
		if len(parts) == 0 && quality > 0 {
			parts = []Range{{r.start[0], r.end[len(r.end)-1]}}
		}
		return parts
	}
	for k := 0; k+len(i.runes) <= len(r.runes); k++ {
		if slices.Equal(r.runes[k:k+len(i.runes)], i.runes) {
			parts = append(parts, Range{r.start[k], r.end[k+len(i.runes)-1]})
		}
	}
	return parts
}

// word returns how well a word of a text, or a part of one, matches an item, 0 if it does not.
func (i *item) word(w []rune) float64 {
	w = w[:min(len(w), maxWord)]
	switch {
	case slices.Equal(w, i.runes):
		return ExactMatch
	case i.prefix && len(w) > len(i.runes) && slices.Equal(w[:len(i.runes)], i.runes):
		return PrefixMatch
	case i.fuzzy && OneTypo(i.runes, w):
		return FuzzyMatch
	}
	return 0
}

// OneTypo reports whether two words differ by one character that is missing, added, replaced, or exchanged with its neighbour.
func OneTypo(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	if len(a) < len(b) {
		return slices.Equal(a[n:], b[n+1:])
	}
	if n == len(a) {
		return false // they are equal
	}
	return slices.Equal(a[n+1:], b[n+1:]) || n+1 < len(a) && a[n] == b[n+1] && a[n+1] == b[n] && slices.Equal(a[n+2:], b[n+2:])
}
