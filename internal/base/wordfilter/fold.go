package wordfilter

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes are letters of other scripts, in lower case, that look like Latin ones.
var lookalikes = map[rune]rune{
	// Cyrillic
	'а': 'a', 'в': 'b', 'ь': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'e', 'ѐ': 'e', 'є': 'e', 'ғ': 'f', 'һ': 'h', 'н': 'h', 'і': 'i', 'ї': 'i', 'ј': 'j', 'к': 'k', 'қ': 'k', 'ӏ': 'l', 'м': 'm',
	'п': 'n', 'о': 'o', 'ө': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v', 'ԝ': 'w', 'ш': 'w', 'х': 'x', 'у': 'y', 'ү': 'y', 'з': 'z',
	// Greek
	'α': 'a', 'β': 'b', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'σ': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'γ': 'y', 'ω': 'w', 'μ': 'u',
	// Latin
	'ı': 'i', 'ɩ': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɢ': 'g', 'ɪ': 'i', 'ʟ': 'l', 'ɴ': 'n', 'ʀ': 'r', 'ʏ': 'y', 'ʙ': 'b', 'ʜ': 'h', 'ø': 'o', 'ł': 'l', 'đ': 'd', 'ħ': 'h', 'ŧ': 't', 'ƒ': 'f', 'ɐ': 'a', 'ᴀ': 'a', 'ᴄ': 'c',
	'ᴅ': 'd', 'ᴇ': 'e', 'ᴊ': 'j', 'ᴋ': 'k', 'ᴍ': 'm', 'ᴏ': 'o', 'ᴘ': 'p', 'ᴛ': 't', 'ᴜ': 'u', 'ᴠ': 'v', 'ᴡ': 'w', 'ᴢ': 'z', 'ꜱ': 's',
}

// simplifiedForms has traditional Chinese characters and their simplified forms, made by tools/hanvariants from Unihan 15.0 of the Unicode Character Database.
//
//go:embed simplified.txt
var simplifiedForms string

// simplified has the simplified forms of traditional characters.
var simplified = sync.OnceValue(func() map[rune]rune {
	forms := map[rune]rune{}
	for line := range strings.Lines(simplifiedForms) {
		pair := []rune(line)
		forms[pair[0]] = pair[1]
	}
	return forms
})

// foldRune returns the folded form of a character: "" if it is neither a letter nor a digit.
func foldRune(r rune) string {
	var folded []rune
	for _, c := range norm.NFKD.String(string(r)) {
		if !unicode.IsLetter(c) && !unicode.IsNumber(c) {
			continue
		}
		c = unicode.ToLower(c)
		for _, d := range norm.NFKD.String(string(c)) { // lower case may have marks that upper case has not
			if !unicode.IsLetter(d) && !unicode.IsNumber(d) {
				continue
			}
			if l, ok := lookalikes[d]; ok {
				d = l
			}
			if s, ok := simplified()[d]; ok {
				d = s
			}
			folded = append(folded, d)
		}
	}
	return string(folded)
}

// foldWord returns the folded form of a word.
func foldWord(text string) []byte {
	var b []byte
	for _, r := range text {
		b = append(b, foldRune(r)...)
	}
	return b
}

const firstHan, lastHan = 0x3400, 0x9fff // of the common Chinese characters, which fold to themselves, or to their simplified forms

// foldTable has the folded forms of characters.
type foldTable struct {
	ascii [utf8.RuneSelf]byte // 0: neither a letter nor a digit
	plane []string            // of the Basic Multilingual Plane, but for the Chinese characters that fold to themselves
}

func newFoldTable() *foldTable {
	t := &foldTable{plane: make([]string, 1<<16)}
	for r := range rune(1 << 16) {
		if r < firstHan || r > lastHan {
			t.plane[r] = foldRune(r)
		}
		if s, ok := simplified()[r]; ok {
			t.plane[r] = string(s)
		}
		if r < utf8.RuneSelf && t.plane[r] != "" {
			t.ascii[r] = t.plane[r][0]
		}
	}
	return t
}

// fold returns the folded form of a character that is not ASCII.
func (t *foldTable) fold(r rune, bytes string) string {
	switch {
	case r >= firstHan && r <= lastHan && t.plane[r] == "":
		return bytes
	case int(r) < len(t.plane):
		return t.plane[r]
	}
	return foldRune(r)
}

// appendFolded appends the folded form of a text to b.
func (t *foldTable) appendFolded(b []byte, text string) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if l := t.ascii[c]; l != 0 {
				b = append(b, l)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		b = append(b, t.fold(r, text[i:i+size])...)
		i += size
	}
	return b
}

// gaps returns for each byte of the folded text, and for its end, whether something that one sees stands before it, or nothing at all: the beginning or the end.
func (t *foldTable) gaps(text string, size int) []bool {
	gaps := make([]bool, size+1)
	at := 0
	gaps[0], gaps[size] = true, true
	for _, r := range text {
		folded := string(r)
		switch {
		case r >= utf8.RuneSelf:
			folded = t.fold(r, folded)
		case t.ascii[r] == 0:
			folded = ""
		}
		if folded == "" && !isUnseen(r) {
			gaps[at] = true
		}
		at += len(folded)
	}
	return gaps
}

// isUnseen reports whether a character is not seen by itself: a zero-width one, or a mark on the letter before it.
func isUnseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) || r == '\u115f' || r == '\u1160' || r == '\u3164'
}
