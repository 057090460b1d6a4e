package wordfilter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/wordfilter"
)

func filter(t testing.TB, words ...wordfilter.Word) *wordfilter.Filter {
	t.Helper()
	f, err := wordfilter.New(words)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// found returns the words of a list that a text has, each once, in the order of the list.
func found(f *wordfilter.Filter, text string) (list []int) {
	f.Find(text, func(word int) bool {
		list = append(list, word)
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}

func TestDisguisedWordsAreFound(t *testing.T) {
	f := filter(t, wordfilter.Word{Text: "casino"}, wordfilter.Word{Text: "赌博"}, wordfilter.Word{Text: "ass", Whole: true}, wordfilter.Word{Text: "加微信v8"})
	for text, want := range map[string][]int{
		"":                        nil,
		"a nice day":              nil,
		"casino":                  {0},
		"the CASINO!":             {0},
		"onlinecasino24":          {0},
		"Ｃａｓｉｎｏ":                  {0}, // full width
		"𝓬𝓪𝓼𝓲𝓷𝓸":                  {0}, // mathematical letters
		"ⓒⓐⓢⓘⓝⓞ":                  {0}, // circled letters
		"cаsіnо":                  {0}, // Cyrillic а, і and о
		"сαѕιηο":                  {0}, // Cyrillic and Greek
		"cásìñö":                  {0}, // accents
		"c\u0301a\u0308sino":      {0}, // combining marks
		"ca\u200bsi\u200dno":      {0}, // zero-width characters
		"c\u00adasino\ufeff":      {0}, // soft hyphen, byte order mark
		"c.a.s.i.n.o":             {0},
		"c a-s_i*n o":             {0},
		"c🎰a🎰s🎰i🎰n🎰o":             {0},
		"casi no":                 nil, // two words
		"Lucas. In one":           nil,
		"赌博":                      {1},
		"来赌 博吧":                   {1},
		"赌*博":                     {1},
		"赌\u200b博":                {1},
		"博赌":                      nil,
		"kick his ass":            {2},
		"ass":                     {2},
		"a.s.s":                   {2},
		"A S S!":                  {2},
		"class":                   nil,
		"a class, assessed":       nil,
		"as soon":                 nil,
		"加 微 信 Ｖ８":                {3},
		"casino 赌博":               {0, 1},
		"ﬁne":                     nil,
		strings.Repeat("x", 1000): nil,
		"\xff\xfecasino\xff":      {0}, // not valid UTF-8
	} {
		if got := found(f, text); !slices.Equal(got, want) {
			t.Errorf("%q has the words %v, want %v", text, got, want)
		}
	}
}

// Of words within each other all are found, and the search ends when the caller has enough.
func TestAllWordsAreFound(t *testing.T) {
	f := filter(t, wordfilter.Word{Text: "he"}, wordfilter.Word{Text: "she"}, wordfilter.Word{Text: "hers"}, wordfilter.Word{Text: "HERS", Whole: true})
	if got := found(f, "ushers"); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("found %v", got)
	}
	n := 0
	f.Find("he he he", func(int) bool { n++; return false })
	if n != 1 {
		t.Errorf("the search goes on %d times", n)
	}
	var none *wordfilter.Filter
	if got := found(none, "he"); got != nil {
		t.Errorf("no filter finds %v", got)
	}
}

func TestWordsAreChecked(t *testing.T) {
	for _, text := range []string{"", " ", "...", "\u200b", strings.Repeat("x", 65)} {
		if _, err := wordfilter.New([]wordfilter.Word{{Text: text}}); err == nil || wordfilter.Check(text) == nil {
			t.Errorf("%q is a word", text)
		}
	}
	many := make([]wordfilter.Word, wordfilter.MaxWords+1)
	for i := range many {
		many[i].Text = fmt.Sprint("w", i)
	}
	if _, err := wordfilter.New(many); err == nil {
		t.Error("too many words are accepted")
	}
	long := make([]wordfilter.Word, 2000)
	for i := range long {
		long[i].Text = fmt.Sprintf("%060d", i)
	}
	if _, err := wordfilter.New(long); err == nil {
		t.Error("too long words are accepted")
	}
	if f, err := wordfilter.New(nil); f != nil || err != nil {
		t.Errorf("without words New returned %v, %v, want no filter and no error", f, err)
	}
}

// FuzzFind: no text breaks the search, and a word stays found between others.
func FuzzFind(f *testing.F) {
	for _, text := range []string{"casino", "ⓒⓐⓢⓘⓝⓞ", "\xff", "ŉ", "İ", "ẞ", "가", "豈"} {
		f.Add(text)
	}
	w, err := wordfilter.New([]wordfilter.Word{{Text: "casino"}, {Text: "赌博"}, {Text: "ass", Whole: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := found(w, text+" casino "+text); !slices.Contains(got, 0) {
			t.Errorf("%q hides a word", text)
		}
	})
}

var sink int

func benchmark(b *testing.B, f *wordfilter.Filter, text string) {
	b.ReportAllocs()
	for b.Loop() {
		f.Find(text, func(w int) bool { sink += w; return true })
	}
}

// BenchmarkFind: a message of 200 bytes with 10,000 words, and without a list.
func BenchmarkFind(b *testing.B) {
	words := make([]wordfilter.Word, 0, wordfilter.MaxWords)
	for i := range wordfilter.MaxWords {
		if i%2 == 0 {
			words = append(words, wordfilter.Word{Text: fmt.Sprintf("%c%c%c", 0x4e00+i, 0x4e00+i*7%20000, 0x4e00+i*13%20000)})
		} else {
			words = append(words, wordfilter.Word{Text: fmt.Sprintf("wd%xz", i*7919)})
		}
	}
	f := filter(b, words...)
	english := strings.Repeat("The quick brown fox jumps over the lazy dog, again and ", 4)[:200]
	chinese := strings.Repeat("今天天气很好，我们一起去公园散步吧。", 4)[:201]
	b.Run("english", func(b *testing.B) { benchmark(b, f, english) })
	b.Run("chinese", func(b *testing.B) { benchmark(b, f, chinese) })
	b.Run("found", func(b *testing.B) { benchmark(b, f, english[:190]+" wd1eefz") })
	b.Run("no list", func(b *testing.B) { benchmark(b, nil, english) })
}

// A word is found in simplified and in traditional characters, whichever is listed, also between others.
func TestChineseVariants(t *testing.T) {
	f, err := wordfilter.New([]wordfilter.Word{{Text: "赌博"}, {Text: "發財"}, {Text: "后台"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"来赌博吧": 0, "來賭博吧": 0, "賭*博": 0, "恭喜发财": 1, "恭喜發財": 1, "發财": 1, "後臺": 2, "后台": 2} {
		found := -1
		f.Find(text, func(n int) bool { found = n; return false })
		if found != want {
			t.Errorf("%q: word %d is found, want %d", text, found, want)
		}
	}
	f.Find("打开博物馆", func(n int) bool { t.Errorf("word %d is found in another text", n); return true })
}
