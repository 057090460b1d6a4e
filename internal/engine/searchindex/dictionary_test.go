package searchindex_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

func readDictionary(t *testing.T, lines string) *searchindex.Dictionary {
	t.Helper()
	d, err := searchindex.ReadDictionary(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An index has all words of the dictionary that are in a text, and each Chinese character. Kana and Korean remain pairs.
func TestWordsOfADictionary(t *testing.T) {
	d := readDictionary(t, "\ufeff添加 12 v\n添加为\n好友\t7\n\n加为\n為 1\nhello\n手機\n")
	if d.Len() != 5 {
		t.Errorf("%d words, expected 添加, 添加为, 好友, 加为 and 手機", d.Len())
	}
	for text, want := range map[string][]string{
		"已添加为好友":      {"已", "添", "添加", "添加为", "加", "加为", "为", "好", "好友", "友"},
		"iPhone 手機 a": {"iphone", "手", "手機", "機", "a"},
		"友かなカ安녕하":     {"友", "かな", "なか", "か", "安", "녕하", "하"},
	} {
		if got := d.Words(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
	if got, want := (*searchindex.Dictionary)(nil).Words("添加为"), searchindex.Words("添加为"); !slices.Equal(got, want) {
		t.Errorf("without a dictionary: %q, expected %q", got, want)
	}
}

// A query is divided into the longest words, so that an index is asked for few.
func TestTermsOfADictionary(t *testing.T) {
	d := readDictionary(t, "添加\n添加为\n好友\n")
	for query, want := range map[string][]searchindex.Term{
		"添加为好友": {{Word: "添加为"}, {Word: "好友"}},
		"加为好":   {{Word: "加"}, {Word: "为"}, {Word: "好"}},
		"好友かなカ": {{Word: "好友"}, {Word: "かな"}, {Word: "なか"}},
		"友か":    {{Word: "友"}, {Word: "か", Prefix: true}},
		"hello": {{Word: "hello", Prefix: true, Fuzzy: true}},
	} {
		if got := d.Terms(searchindex.NewPattern([]string{query}, true)); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, expected %+v", query, got, want)
		}
	}
}

// Whatever a text and a dictionary are, all that a query of a part of the text asks for is in the index.
func TestADictionaryLosesNothing(t *testing.T) {
	letters := []rune("甲乙丙丁かカ한a ")
	rng := rand.New(rand.NewPCG(1, 1))
	random := func(n int) string {
		text := make([]rune, n)
		for i := range text {
			text[i] = letters[rng.IntN(len(letters))]
		}
		return string(text)
	}
	for range 2000 {
		lines := "甲乙\n"
		for range rng.IntN(8) {
			lines += random(1+rng.IntN(4)) + "\n"
		}
		d, text := readDictionary(t, lines), random(1+rng.IntN(12))
		words := d.Words(text)
		all := []rune(text)
		from := rng.IntN(len(all))
		part := string(all[from : from+1+rng.IntN(len(all)-from)])
		pattern := searchindex.NewPattern(strings.Fields(part), false)
		if _, ok := pattern.Match(text); !ok {
			continue // a word was cut
		}
		for _, term := range d.Terms(pattern) {
			if !slices.ContainsFunc(words, func(w string) bool {
				return w == term.Word || term.Prefix && strings.HasPrefix(w, term.Word)
			}) {
				t.Fatalf("%q with the dictionary %q has the words %q, and a query for %q asks for %+v", text, lines, words, part, term)
			}
		}
	}
}

// A file that is no dictionary is refused with a reason. Two dictionaries with the same words are the same, in whatever order, and any other is another one.
func TestFilesOfDictionaries(t *testing.T) {
	for lines, want := range map[string]string{
		"":               "it has no word of two to eight Chinese characters",
		"hello\n添\n":     "it has no word of two to eight Chinese characters",
		"添加\n\xff\xfe\n": "line 2 is not UTF-8",
		"添加\n" + strings.Repeat("x", 100_000): "token too long",
	} {
		if _, err := searchindex.ReadDictionary(strings.NewReader(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, expected %s", lines, err, want)
		}
	}
	one, same, other := readDictionary(t, "添加\n好友"), readDictionary(t, "好友 3\n添加 4\n好友\n"), readDictionary(t, "添加\n友好")
	if one.Sum() == 0 || one.Sum() != same.Sum() || one.Sum() == other.Sum() || (*searchindex.Dictionary)(nil).Sum() != 0 {
		t.Errorf("sums: %x, %x and %x", one.Sum(), same.Sum(), other.Sum())
	}
}
