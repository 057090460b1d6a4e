package blevesearch_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
)

func open(t testing.TB, dir string) *blevesearch.Index {
	t.Helper()
	index, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestSuite(t *testing.T) {
	searchindextest.Run(t, func(t *testing.T, dir string) searchindex.Index { return open(t, dir) })
}

// The suite passes as well if the words of documents are examined, because more words match than a search examines.
func TestSuiteOfManyWords(t *testing.T) {
	searchindextest.Run(t, func(t *testing.T, dir string) searchindex.Index {
		index := open(t, dir)
		index.SetMaxWords(1)
		return index
	})
}

// variants returns n words that begin like a word, and n that differ from it by a typo; of a Chinese character, only the former.
func variants(word string, n int) (list []string) {
	for i := range n {
		if word == "账" {
			list = append(list, word+string(rune('一'+i)))
			continue
		}
		letter := string(rune('а' + i)) // Cyrillic
		list = append(list, word+letter+letter, letter+word)
	}
	return list
}

// searchOf has what a reader finds for a word while typing, among the documents with an access term.
func searchOf(t *testing.T, index *blevesearch.Index, word, access string) searchindex.Result {
	t.Helper()
	r, err := index.Search(t.Context(), &searchindex.Query{Kind: searchindex.Message, Terms: searchindex.NewPattern([]string{word}, true).Terms(), Access: []string{access}, Limit: 100})
	if err != nil {
		t.Fatalf("a search for %q: %v", word, err)
	}
	return r
}

func message(number uint64, access, text string) searchindex.Document {
	return searchindex.Document{ID: searchindex.ID{Kind: searchindex.Message, Parent: 1, Number: number}, Text: text, Access: []string{access}}
}

// A user who wrote as many variants of a word as a search examines finds the same, whether somebody else wrote the word, or many variants, or nothing.
func TestWordsOfOthersDoNotShow(t *testing.T) {
	const limit = 6
	for _, word := range []string{"invoice", "账"} {
		for own := limit - 1; own <= limit+1; own++ {
			var results []searchindex.Result
			texts := variants(word, own)
			for _, secret := range []string{"nothing", word, strings.Join(variants(word, 2*limit), " ")} {
				index := open(t, t.TempDir())
				index.SetMaxWords(limit)
				b := searchindex.Batch{Put: []searchindex.Document{message(1000, "victim", secret)}}
				for n, text := range texts {
					b.Put = append(b.Put, message(uint64(n), "attacker", text))
				}
				if err := index.Apply(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				results = append(results, searchOf(t, index, word, "attacker"))
				if err := index.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(results[0].Hits); n != len(texts) || !reflect.DeepEqual(results[0], results[1]) || !reflect.DeepEqual(results[0], results[2]) {
				t.Errorf("%q with %d variants: %d of %d hits, and %d and %d if somebody else wrote the word, or many variants", word, own, n, len(texts), len(results[1].Hits), len(results[2].Hits))
			}
		}
	}
}

// Nobody crowds words out of the searches of others, whether these are written so, begin so, or have a typo.
func TestWordsOfOthersDoNotHide(t *testing.T) {
	index := open(t, t.TempDir())
	defer index.Close() //nolint:errcheck // a test
	index.SetMaxWords(6)
	b := searchindex.Batch{Put: []searchindex.Document{message(1, "attacker", strings.Join(variants("invoice", 30), " ")), message(2, "reader", "invoice"), message(3, "reader", "invoices"),
		message(4, "reader", "invoixe"), message(5, "reader", "unrelated"), message(6, "attacker", strings.Join(variants("账", 30), " ")), message(7, "reader", "账单")}}
	if err := index.Apply(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]uint64{"invoice": {2, 3, 4}, "账": {7}} {
		var got []uint64
		for _, h := range searchOf(t, index, word, "reader").Hits {
			got = append(got, h.ID.Number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", word, got, want)
		}
	}
}

// Words with a typo are found as well if all words have so many letters that typos are not looked up one by one.
func TestTyposAmongManyLetters(t *testing.T) {
	index := open(t, t.TempDir())
	defer index.Close() //nolint:errcheck // a test
	var letters strings.Builder
	for r := '\u1200'; letters.Len() < 4*1500; r++ { // Ethiopic, Cherokee and others
		if unicode.IsLetter(r) {
			letters.WriteRune(r)
			letters.WriteByte(' ')
		}
	}
	b := searchindex.Batch{Put: []searchindex.Document{message(1, "reader", letters.String()), message(2, "reader", "invoice"), message(3, "reader", "invoixe"), message(4, "reader", "unrelated")}}
	if err := index.Apply(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, h := range searchOf(t, index, "invoise", "reader").Hits {
		got = append(got, h.ID.Number)
	}
	if !slices.Equal(got, []uint64{3, 2}) {
		t.Errorf("found %v", got)
	}
}

// A damaged index is not opened, whether files are truncated, changed in the middle, or gone, or the list of them is. The error says which segment is damaged.
func TestDamage(t *testing.T) {
	truncated := func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o600) }
	changed := func(path string, content []byte) error {
		content[len(content)/3] ^= 0x40
		return os.WriteFile(path, content, 0o600)
	}
	gone := func(path string, _ []byte) error { return os.Remove(path) }
	for name, c := range map[string]struct {
		files  string
		damage func(path string, content []byte) error
		want   error
	}{
		"truncated": {"*.zap", truncated, indexsegment.ErrDamaged},
		"changed":   {"*.zap", changed, indexsegment.ErrDamaged},
		"gone":      {"*.zap", gone, os.ErrNotExist},
		"no list":   {"root.bolt", gone, searchindex.ErrCorrupt},
	} {
		dir := t.TempDir()
		index := open(t, dir)
		if err := index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.User, Number: 1}, Text: "some words", Access: []string{"x"}}}}); err != nil {
			t.Fatal(err)
		}
		if err := index.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, c.files))
		if err != nil || len(files) == 0 {
			t.Fatalf("the index has no files: %v", err)
		}
		for _, file := range files { // those that a merge has replaced are among them
			content, err := os.ReadFile(file)
			if err == nil {
				err = c.damage(file, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if damaged, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, searchindex.ErrCorrupt) || !errors.Is(err, c.want) {
			t.Errorf("%s: the index was opened: %v", name, err)
			if err == nil {
				_ = damaged.Close()
			}
		}
	}
}
