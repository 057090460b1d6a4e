package searchindex_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// A query finds a text, or does not, and the parts that match are as a reader expects them.
func TestMatch(t *testing.T) {
	for _, test := range []struct {
		query, text string
		typing      bool
		parts       string // of the text, divided by "|"; "-": it does not match
	}{
		{"添加", "已添加为好友", false, "添加"},
		{"添", "已添加为好友", false, "添"},
		{"友", "已添加为好友", false, "友"},
		{"添好", "已添加为好友", false, "-"},
		{"加添", "已添加为好友", false, "-"},
		{"かな", "カナとかな", false, "カナ|かな"},
		{"ﾊﾞｽ", "バスで行く", false, "バス"},
		{"はす", "バスで行く", false, "-"},
		{"セヨ", "안녕하세요", false, "-"},
		{"하세", "안녕하세요", false, "하세"},
		{"cafe", "Café au lait", false, "Café"},
		{"CAFÉ", "cafe\u0301 au lait", false, "cafe\u0301"},
		{"strasse", "Die Straße", false, "Straße"},
		{"hallo", "Hello there", false, "Hello"},
		{"helo", "Hello there", false, "Hello"},
		{"hlelo", "Hello there", false, "Hello"},
		{"xello", "Hello there", false, "Hello"},
		{"hxllx", "Hello there", false, "-"},
		{"cat", "the car", false, "-"},
		{"2026", "in 2027", false, "-"},
		{"hel", "Hello there", false, "-"},
		{"hel", "Hello there", true, "Hello"},
		{"h", "Hello there", true, "-"},
		{"there hel", "Hello there", true, "Hello|there"},
		{"hello nobody", "Hello there", false, "-"},
		{"iPhone手机", "我的iphone手机壳", false, "iphone手机"},
		{"ＡＢＣ", "abc", false, "abc"},
		{"a\u200db", "ab", false, "ab"},
		{"مُحَمَّد", "محمد", false, "محمد"},
		{"", "anything", false, ""},
	} {
		parts, ok := searchindex.NewPattern(strings.Fields(test.query), test.typing).Match(test.text)
		got, runes := []string{}, []rune(test.text)
		for _, p := range parts {
			got = append(got, string(runes[p.Start:p.End]))
		}
		text := strings.Join(got, "|")
		if !ok {
			text = "-"
		}
		if text != test.parts {
			t.Errorf("%q in %q (typing: %v): got %q, want %q", test.query, test.text, test.typing, text, test.parts)
		}
	}
}

// Of the name of a file, the parts of words are found as well; of other texts they are not.
func TestMatchOfNames(t *testing.T) {
	for _, test := range []struct {
		query, name string
		typing      bool
		parts       string // of the name, divided by "|"; "-": it does not match
	}{
		{"报告", "季度报告.pdf", false, "报告"},
		{"pdf", "季度报告.PDF", false, "PDF"},
		{".pdf", "季度报告.PDF", false, "PDF"},
		{"*.pdf", "季度报告.PDF", false, "PDF"},
		{"report", "quarterly_report_v2.pdf", false, "report"},
		{"report", "QuarterlyReportFinal.pdf", false, "Report"},
		{"report", "quarterlyReport.pdf", false, "Report"},
		{"quarterlyreport", "QuarterlyReport.pdf", false, "QuarterlyReport"},
		{"rep", "quarterlyReport.pdf", true, "Report"},
		{"quart", "quarterlyReport.pdf", true, "quarterly"},
		{"quarterlyrep", "quarterlyReport.pdf", true, "quarterlyReport"},
		{"rep", "quarterlyReport.pdf", false, "-"},
		{"repotr", "quarterlyReport.pdf", false, "Report"},
		{"pdf", "PDFReader.app", false, "PDF"},
		{"reader", "PDFReader.app", false, "Reader"},
		{"report.pdf", "QuarterlyReport.pdf", false, "Report.pdf"},
		{"year.end", "NewYear.EndReport", false, "Year.End"},
		{"2026", "report2026final.docx", false, "2026"},
		{"final", "report2026final.docx", false, "final"},
		{"报告 2026", "2026年报告V2.xlsx", false, "2026|报告"},
		{"tar", "backup.2026-01-31.tar.gz", false, "tar"},
		{"été", "BilanÉté.odt", false, "Été"},
		{"lan", "BilanÉté.odt", false, "-"},
		{"erly", "QuarterlyReport.pdf", false, "-"},
	} {
		p, name := searchindex.NewPattern(strings.Fields(test.query), test.typing), []rune(test.name)
		text := "CamelCase before " + test.name + " or AfterIt"
		from := len([]rune("CamelCase before "))
		parts, ok := p.Match(text, searchindex.Range{Start: from, End: from + len(name)})
		got := []string{}
		for _, r := range parts {
			got = append(got, string([]rune(text)[r.Start:r.End]))
		}
		found := strings.Join(got, "|")
		if !ok {
			found = "-"
		}
		if found != test.parts {
			t.Errorf("%q in %q (typing: %v): got %q, want %q", test.query, test.name, test.typing, found, test.parts)
		}
	}
	for _, query := range []string{"camel", "case", "after"} {
		if _, ok := searchindex.NewPattern([]string{query}, false).Match("CamelCase name.pdf AfterIt", searchindex.Range{Start: 10, End: 18}); ok {
			t.Errorf("%q matches a part of a word that is in no name", query)
		}
	}
	if words := searchindex.Words(strings.Repeat("aB1", 1000), searchindex.Range{End: 3000}); len(words) > 17 {
		t.Errorf("one word has %d words", len(words))
	}
}

// A quoted text is found as it stands.
func TestPhrases(t *testing.T) {
	for text, want := range map[string]bool{"the quick brown fox": true, "The Quick  brown": true, "quick fox brown": false, "quicker brown": false, "一个quick brown两": true} {
		if _, got := searchindex.NewPattern([]string{"quick brown"}, false).Match(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// What Match accepts has all the words that an index is asked for, or words that the terms admit.
func FuzzTheIndexHasWhatMatches(f *testing.F) {
	f.Add("hello wrold", "Hello world 已添加", true)
	f.Add("添加", "已添加为好友", false)
	f.Add("ﾊﾞ", "バスで", false)
	f.Add("\u1e9b\u0323", "ẛ̣ x", true)
	f.Add("report.pdf", "a QuarterlyReport.pdf", true)
	f.Fuzz(func(t *testing.T, query, text string, typing bool) {
		if !utf8.ValidString(query) || !utf8.ValidString(text) {
			return
		}
		p := searchindex.NewPattern(strings.Fields(query), typing)
		name := searchindex.Range{Start: min(2, utf8.RuneCountInString(text)), End: utf8.RuneCountInString(text)}
		parts, ok := p.Match(text, name)
		last := 0
		for _, r := range parts {
			if r.Start < last || r.End <= r.Start || r.End > utf8.RuneCountInString(text) {
				t.Fatalf("%q in %q: the parts are %v", query, text, parts)
			}
			last = r.End
		}
		words := searchindex.Words(text, name)
		for _, term := range p.Terms() {
			if ok && !slices.ContainsFunc(words, func(w string) bool { return admits(term, w) }) {
				t.Errorf("%q matches %q, but no word of it is one of %+v", query, text, term)
			}
		}
	})
}

func admits(t searchindex.Term, word string) bool {
	return word == t.Word || t.Prefix && strings.HasPrefix(word, t.Word) || t.Fuzzy && searchindex.OneTypo([]rune(t.Word), []rune(word))
}

// Long texts cost a bounded amount.
func TestLongTexts(t *testing.T) {
	if n := len(searchindex.Words(strings.Repeat("\ufdfa ", 100_000))); n == 0 {
		t.Error("no words")
	}
	if _, ok := searchindex.NewPattern([]string{"needle"}, false).Match(strings.Repeat("x ", searchindex.MaxText) + "needle"); ok {
		t.Error("the end of a very long text is analysed")
	}
}

// Before Oldest, no document has the score, and after it one that matches in full does.
func TestOldest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	bounded := 0
	for range 10_000 {
		r := searchindex.Ranking{NowMs: 1_800_000_000_000, RecencyWeight: float64(random.IntN(5)) / 4, HalfLifeMs: random.Int64N(100 * 86_400_000), PopularityWeight: 0.1}
		total := 1.2 * random.Float64()
		oldest := r.Oldest(total)
		if oldest == 0 {
			continue
		}
		if oldest < math.MaxInt64 {
			bounded++
		}
		if before := min(oldest-1, r.NowMs/1000+10); r.Score(1, before, 0).Total >= total {
			t.Fatalf("%+v: a document of the second %d has a score of %v, which is not below %v", r, before, r.Score(1, before, 0).Total, total)
		}
		if oldest < math.MaxInt64 && r.Score(1, oldest+2, 0).Total < total {
			t.Fatalf("%+v: the second %d is not the last whose documents have scores below %v", r, oldest, total)
		}
	}
	if bounded < 3000 {
		t.Errorf("%d of 10,000 scores are reached from a time on", bounded)
	}
}

// A document whose score is exactly the one that is wanted is not too old, whatever is rounded.
func TestOldestKeepsEqualScores(t *testing.T) {
	const second = 1_800_000_000
	random := rand.New(rand.NewPCG(1, 6))
	bounded := 0
	for i := range 101 {
		for _, age := range []int64{-1, 0, 1, random.Int64N(60), random.Int64N(30 * 86_400)} {
			r := searchindex.Ranking{NowMs: second*1000 + random.Int64N(1000), RecencyWeight: float64(i) / 100, HalfLifeMs: 1 + random.Int64N(100*86_400_000)}
			total := r.Score(1, second-age, 0).Total
			oldest := r.Oldest(total)
			if oldest > second-age {
				t.Errorf("%+v: a document of the second %d has a score of %v, but the oldest with that is of the second %d", r, second-age, total, oldest)
			}
			if oldest > 0 {
				bounded++
			}
		}
	}
	if bounded < 300 {
		t.Errorf("%d of 505 scores are reached from a time on", bounded)
	}
}
