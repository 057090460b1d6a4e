package indexsegment_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

// wordsOf returns random words of few letters, each once, so that many differ by a typo.
func wordsOf(random *rand.Rand, n int) (list []string) {
	letters := []rune("abcdжéß9")
	for range n {
		word := make([]rune, 1+random.IntN(6))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		list = append(list, string(word))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func termsOf(t *testing.T, words []string) indexsegment.Terms {
	t.Helper()
	s, err := indexsegment.Of(newSegment(t, &document{id: "a", terms: map[string][]string{"t": words}}))
	must(t, err)
	return s.Terms("t")
}

// All terms with a typo are found, each once, and few words that are no terms. None is found that does not differ by a typo.
func TestTypos(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 7))
	words := wordsOf(random, 3000)
	terms := termsOf(t, words)
	wanted, others := 0, 0
	for _, word := range append(wordsOf(random, 300), "", "an unknown word") {
		found, ok, err := terms.Typos(word)
		if must(t, err); !ok {
			t.Fatal("there are too many letters")
		}
		slices.Sort(found)
		if len(slices.Compact(slices.Clone(found))) != len(found) {
			t.Errorf("%q: some of %q are found twice", word, found)
		}
		for _, w := range words {
			if typo := searchindex.OneTypo([]rune(word), []rune(w)); typo && !slices.Contains(found, w) {
				t.Errorf("%q is not found for %q", w, word)
			}
		}
		for _, f := range found {
			if !searchindex.OneTypo([]rune(word), []rune(f)) {
				t.Errorf("%q is found for %q", f, word)
			}
			if _, is := slices.BinarySearch(words, f); is {
				wanted++
			} else {
				others++
			}
		}
	}
	if wanted < 1000 || others > wanted/5 {
		t.Errorf("%d words that are found are terms, and %d are not", wanted, others)
	}
}

// Of terms with very many letters, it is not said which differ by a typo.
func TestTyposAmongManyLetters(t *testing.T) {
	var words []string
	for r := rune(0x4e00); len(words) < 1000; r++ {
		words = append(words, string(r))
	}
	if _, ok, err := termsOf(t, words).Typos("word"); err != nil || !ok {
		t.Errorf("1,000 letters: %v, %v", ok, err)
	}
	if found, ok, err := termsOf(t, append(words, "words")).Typos("word"); err != nil || ok || found != nil {
		t.Errorf("1,005 letters: %q, %v, %v", found, ok, err)
	}
	none := indexsegment.Terms{}
	if found, ok, err := none.Typos("word"); err != nil || !ok || found != nil {
		t.Errorf("no terms: %q, %v, %v", found, ok, err)
	}
}
