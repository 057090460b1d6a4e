package searchindex

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dictionary divides runs of Chinese characters into words. An index then has these words, where it has pairs of characters without a dictionary. What a search finds is the
// same, because every word that stands anywhere in a text is stored, and every character by itself: a query finds each text that has its words, and each of its words is one of the
// dictionary or a character. Japanese kana and Korean remain pairs.
//
// A nil *Dictionary divides into pairs. All methods are safe for concurrent use.
type Dictionary struct {
	words map[string]struct{}
	// longest is how many characters the longest word has that begins with a character.
	longest map[rune]int
	sum     uint64
}

const (
	// maxDictionaryWord is how many characters a word of a dictionary has at most; longer ones are left out.
	maxDictionaryWord = 8
	// MaxDictionary is how many words a dictionary has at most, and maxDictionaryLine how many bytes a line of its file.
	MaxDictionary     = 1_000_000
	maxDictionaryLine = 64 << 10
)

// ReadDictionary reads a list of words, one in each line. What follows a word behind a space or a tab, such as its frequency, is ignored, as are words with other than Chinese characters,
// of one character, or of more than eight. It fails if no word is left, or more than MaxDictionary.
func ReadDictionary(from io.Reader) (*Dictionary, error) {
	d := &Dictionary{words: map[string]struct{}{}, longest: map[rune]int{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxDictionaryLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimPrefix(lines.Text(), "\ufeff") // some files begin so
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("line %d is not UTF-8", n)
		}
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		word := []rune(fold(fields[0]))
		if len(word) < 2 || len(word) > maxDictionaryWord || slices.ContainsFunc(word, func(r rune) bool { return !isHan(r) }) {
			continue
		}
		if d.words[string(word)] = struct{}{}; len(d.words) > MaxDictionary {
			return nil, fmt.Errorf("it has more than %d words", MaxDictionary)
		}
		d.longest[word[0]] = max(d.longest[word[0]], len(word))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(d.words) == 0 {
		return nil, errors.New("it has no word of two to eight Chinese characters; write one word in each line")
	}
	for w := range d.words { // in any order
		h := fnv.New64a()
		_, _ = h.Write([]byte(w)) // it never fails
		d.sum += h.Sum64()
	}
	return d, nil
}

// Sum is a hash of the words, by which an index knows the dictionary that it was built with. Without a dictionary it is 0.
func (d *Dictionary) Sum() uint64 {
	if d == nil {
		return 0
	}
	return max(1, d.sum)
}

// Len is the number of words.
func (d *Dictionary) Len() int {
	if d == nil {
		return 0
	}
	return len(d.words)
}

// isHan reports whether a character is Chinese, also in Japanese texts.
func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// Words returns the words of a text that an index stores, as the function Words does without a dictionary.
func (d *Dictionary) Words(text string, names ...Range) []string {
	if d == nil {
		return Words(text, names...)
	}
	return words(text, names, d.divide)
}

// divide returns the words of a run that an index stores.
func (d *Dictionary) divide(run []rune, add func(word string)) {
	for i, r := range run {
		if !isHan(r) {
			end := i + 1
			if end < len(run) && !isHan(run[end]) {
				end++
			}
			add(string(run[i:end]))
			continue
		}
		add(string(r))
		for n := 2; n <= d.longest[r] && i+n <= len(run); n++ {
			if _, ok := d.words[string(run[i:i+n])]; ok {
				add(string(run[i : i+n]))
			}
		}
	}
}

// Terms returns what an index that was built with the dictionary is asked for a pattern.
func (d *Dictionary) Terms(p *Pattern) (list []Term) {
	if d == nil {
		return p.Terms()
	}
	for _, phrase := range p.phrases {
		for _, i := range phrase {
			if i.dense {
				list = append(list, d.terms(i.runes)...)
			} else {
				list = append(list, i.terms()...)
			}
		}
	}
	return list
}

// terms divides a run of a query: at each Chinese character into the longest word that begins there.
func (d *Dictionary) terms(run []rune) (list []Term) {
	for len(run) > 0 {
		n := 1
		if isHan(run[0]) {
			for k := min(d.longest[run[0]], len(run)); k > 1 && n == 1; k-- {
				if _, ok := d.words[string(run[:k])]; ok {
					n = k
				}
			}
			list = append(list, Term{Word: string(run[:n])})
		} else {
			for n < len(run) && !isHan(run[n]) {
				n++
			}
			list = append(list, pairs(run[:n])...)
		}
		run = run[n:]
	}
	return list
}
