package searchindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text is analysed into runs: words, which are compared as a whole, and runs of Chinese, Japanese and Korean characters, which are not divided
// into words and in which any part is found. Both are folded: NFKC, no difference of case, no accents, katakana as hiragana.
//
// Names of files are often several words written as one, as QuarterlyReport2026. So the parts of such a word are words as well, in names only: elsewhere, as in
// links and keys, they would be many and of no use. A part begins at a capital letter behind a small one, at the last of several capitals before a small letter, and
// where digits begin or end.

const (
	// MaxText is how many characters of a text are analysed.
	MaxText = 20_000
	// maxWord is how many characters of a word are compared.
	maxWord = 40
	// Words from fuzzyLetters letters on match with one typo.
	fuzzyLetters = 4
	// prefixLetters is how many letters a word must have to stand for those that begin with it.
	prefixLetters = 2
	// minPart is how many characters a part of a word has that is a word, and maxParts how many of them a word has.
	minPart, maxParts = 2, 16
)

// run is a word, or a run of characters without spaces between words.
type run struct {
	dense bool // of Chinese, Japanese or Korean characters
	runes []rune
	// start and end are the places of each rune in the text, in characters.
	start, end []int
	// breaks are where the parts of a word begin, except the first one.
	breaks []int
}

// span of runes of a run.
type span struct{ from, to int }

// parts returns the parts of a word that are words as well.
func (r *run) parts() (list []span) {
	if len(r.breaks) == 0 {
		return nil
	}
	from := 0
	for i := 0; i <= len(r.breaks) && len(list) < maxParts; i++ {
		to := len(r.runes)
		if i < len(r.breaks) {
			to = r.breaks[i]
		}
		if to-from >= minPart {
			list = append(list, span{from, to})
		}
		from = to
	}
	return list
}

// class of a character, for the parts of words.
type class byte

const (
	otherLetter class = iota
	capital
	digit
)

func classOf(r rune) class {
	switch {
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return capital
	case unicode.IsNumber(r):
		return digit
	}
	return otherLetter
}

// analyzer collects runs.
type analyzer struct {
	runs  []run
	open  bool     // the last run may go on
	names []Range  // of the text, in their order
	last  [2]class // of the last character of the last run, and the one before
}

// isName reports whether a character is in the name of a file.
func (a *analyzer) isName(at int) bool {
	for len(a.names) > 0 && a.names[0].End <= at {
		a.names = a.names[1:]
	}
	return len(a.names) > 0 && a.names[0].Start <= at
}

// part notes where a part of the last run begins, if the next character begins one.
func (a *analyzer) part(next class, start int) {
	r := &a.runs[len(a.runs)-1]
	n, last := len(r.runes), a.last
	a.last = [2]class{next, last[0]}
	if n == 0 || r.dense || !a.isName(start) {
		return
	}
	switch {
	case next == capital && last[0] != capital, next != last[0] && (next == digit || last[0] == digit):
		r.breaks = append(r.breaks, n)
	case next == otherLetter && last == [2]class{capital, capital} && n > 1 && (len(r.breaks) == 0 || r.breaks[len(r.breaks)-1] < n-1):
		r.breaks = append(r.breaks, n-1)
	}
}

// add adds a folded character, which was of a class before.
func (a *analyzer) add(r rune, was class, start, end int) {
	dense := isDense(r)
	switch {
	case dense, unicode.IsLetter(r), unicode.IsNumber(r):
	case unicode.Is(unicode.M, r), unicode.Is(unicode.Cf, r): // part of the character before
		return
	default:
		a.open = false
		return
	}
	if n := len(a.runs); !a.open || a.runs[n-1].dense != dense {
		a.runs = append(a.runs, run{dense: dense})
		a.open = true
	}
	a.part(was, start)
	last := &a.runs[len(a.runs)-1]
	last.runes, last.start, last.end = append(last.runes, r), append(last.start, start), append(last.end, end)
}

// isDense reports whether a character is of a script that puts no spaces between words.
func isDense(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) || r == 'ー' || r == '々' || r == '〆'
}

// analyze returns the runs of a text, of which some ranges are names of files.
func analyze(text string, names []Range) []run {
	a := analyzer{names: names}
	for at := 0; len(text) > 0 && at < MaxText; {
		if c := text[0]; c < utf8.RuneSelf && (len(text) == 1 || text[1] < utf8.RuneSelf) {
			was := classOf(rune(c))
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			a.add(rune(c), was, at, at+1)
			text, at = text[1:], at+1
			continue
		}
		n := norm.NFKC.NextBoundaryInString(text, true)
		if n <= 0 {
			n = len(text)
		}
		end := at + utf8.RuneCountInString(text[:n])
		first, _ := utf8.DecodeRuneInString(text)
		for _, r := range fold(text[:n]) {
			a.add(r, classOf(first), at, end)
		}
		text, at = text[n:], end
	}
	return a.runs
}

// fold returns the folded form of a text.
func fold(text string) string {
	stripped := strings.Map(func(r rune) rune {
		if isAccent(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	var b strings.Builder
	for _, r := range norm.NFKC.String(stripped) {
		switch r = unicode.ToLower(r); {
		case r == 'ß':
			b.WriteString("ss")
			continue
		case r == 'ς':
			r = 'σ'
		case r == 'ı':
			r = 'i'
		case r == 'ø':
			r = 'o'
		case r == 'ł':
			r = 'l'
		case r >= 'ァ' && r <= 'ヶ':
			r -= 'ァ' - 'ぁ'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isAccent reports whether a mark makes no other letter of the one that it is on: accents, and vowel signs of Hebrew and Arabic, but not the voice
// marks of kana.
func isAccent(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x591 && r <= 0x5c7 && unicode.Is(unicode.Mn, r) || r >= 0x64b && r <= 0x65f || r == 0x670
}

// IsDense reports whether a word, as Words returns it, is of a run of characters without spaces between words.
func IsDense(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return isDense(r)
}

func cut(word []rune) string { return string(word[:min(len(word), maxWord)]) }

// Words returns the words of a text that an index stores, each once: words, and of a run of characters each pair of neighbours and the last one, so
// that each character begins one. In names, which are ranges of the text in their order, the parts of words are words as well. A Dictionary divides otherwise.
func Words(text string, names ...Range) []string {
	return words(text, names, func(run []rune, add func(word string)) {
		for i := range run {
			add(string(run[i:min(i+2, len(run))]))
		}
	})
}

// words returns the words of a text, each once. divide adds those of a run of characters without spaces.
func words(text string, names []Range, divide func(run []rune, add func(word string))) (list []string) {
	seen := map[string]bool{}
	add := func(w string) {
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	for _, r := range analyze(text, names) {
		if r.dense {
			divide(r.runes, add)
			continue
		}
		add(cut(r.runes))
		for _, p := range r.parts() {
			add(cut(r.runes[p.from:p.to]))
		}
	}
	return list
}
