package auth

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// common.txt is derived from zxcvbn's list of passwords by frequency: of the 10,000 most common, those with 6 characters or more; of the next
// 10,000, those with 8 or more. It omits patterns, since patterned detects them. Its head has source and licence.
//
//go:embed common.txt
var commonList string

var common = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(commonList) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			set[line] = true
		}
	}
	return set
})

const (
	// minRemaining characters must remain of a password without words that are publicly known about its user.
	minRemaining = 5
	// maxAffix characters before and after a common password do not make it a good one.
	maxAffix = 6
)

// Weak reports whether a password is among the first that an attacker tries: a common one, a pattern, or one built from words about
// the user (handle, name). It detects no others; the caller checks the length.
func Weak(password string, about ...string) bool {
	p := plain(password)
	if guessable(p) {
		return true
	}
	rest := p
	for _, text := range append(about, "rialto") {
		text = plain(text)
		for _, word := range append([]string{text}, strings.FieldsFunc(text, separates)...) {
			if utf8.RuneCountInString(word) >= 3 {
				rest = strings.ReplaceAll(rest, word, "")
			}
		}
	}
	return rest != p && (utf8.RuneCountInString(strings.TrimFunc(rest, separates)) < minRemaining || guessable(rest))
}

func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// plain returns one form for texts that differ in case, or in the spelling of a character.
func plain(text string) string { return strings.ToLower(norm.NFKC.String(text)) }

func guessable(p string) bool {
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	stem := strings.TrimFunc(p, notLetter)
	candidates := []string{p}
	if utf8.RuneCountInString(p)-utf8.RuneCountInString(stem) <= maxAffix {
		candidates = append(candidates, stem)
	}
	for _, c := range candidates {
		if common()[c] || common()[asLetters.Replace(c)] || common()[withI.Replace(c)] {
			return true
		}
	}
	return patterned(p)
}

// Digits and signs that stand for letters.
var (
	asLetters = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")
	withI     = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "l")
)

// rows and columns of keys.
var rows = []string{"`1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "8ik,", "9ol.", "0p;/"}

var neighbours = sync.OnceValue(func() map[[2]rune]bool {
	set := map[[2]rune]bool{}
	for _, row := range rows {
		keys := []rune(row)
		for i := 1; i < len(keys); i++ {
			set[[2]rune{keys[i-1], keys[i]}], set[[2]rune{keys[i], keys[i-1]}] = true, true
		}
	}
	return set
})

// patterned reports whether a password repeats a few characters, or consists of runs: each character after the first of a run is
// the same as the previous one, or its neighbour in the alphabet or on the keyboard.
func patterned(p string) bool {
	text := []rune(p)
	distinct, runs := map[rune]bool{}, 0
	for i, r := range text {
		distinct[r] = true
		if i == 0 || !follows(text[i-1], r) {
			runs++
		}
	}
	if len(distinct) <= 3 || runs <= 3 {
		return true
	}
	for period := 1; period <= 4 && 2*period <= len(text); period++ {
		same := true
		for i := period; same && i < len(text); i++ {
			same = text[i] == text[i-period]
		}
		if same {
			return true
		}
	}
	return false
}

func follows(a, b rune) bool {
	d := a - b
	return d >= -1 && d <= 1 || neighbours()[[2]rune{a, b}]
}
