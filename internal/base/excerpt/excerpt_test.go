package excerpt_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/excerpt"
)

// TestTextsAreCutToALength: characters count, not bytes. A text that is not too long stays as it is, and has no ellipsis.
func TestTextsAreCutToALength(t *testing.T) {
	for _, c := range []struct {
		text              string
		most              int
		of, marked, bytes string
	}{
		{"", 2, "", "", ""},
		{"ab", 2, "ab", "ab", "ab"},
		{"abc", 2, "ab", "a…", "ab"},
		{"名字", 2, "名字", "名字", ""},
		{"名字甲", 2, "名字", "名…", ""},
		{"a名字", 5, "a名字", "a名字", "a名"},
		{"名字", 1, "名", "…", ""},
		{"e\u0301e\u0301", 3, "e\u0301e", "e\u0301…", "e\u0301"}, // letters with accents
		{"a\xffb", 2, "a\xff", "a…", "a"},
		{"a\xffb", 9, "a\xffb", "a\xffb", "ab"},
	} {
		if of, marked, bytes := excerpt.Of(c.text, c.most), excerpt.Marked(c.text, c.most), excerpt.Bytes(c.text, c.most); of != c.of || marked != c.marked || bytes != c.bytes {
			t.Errorf("%q, %d: %q, %q, %q; want %q, %q, %q", c.text, c.most, of, marked, bytes, c.of, c.marked, c.bytes)
		}
	}
	for _, most := range []int{0, -1} {
		if got := excerpt.Of("ab", most); got != "" {
			t.Errorf("%d characters: %q", most, got)
		}
	}
}

// TestSuffixesStay: a suffix is never cut, whatever the length of the text before it.
func TestSuffixesStay(t *testing.T) {
	for _, c := range []struct {
		text, suffix string
		limit        int
		want         string
	}{
		{"Ann", " · irc", 9, "Ann · irc"},
		{"Anna", " · irc", 9, "An… · irc"},
		{"名字名字", " · 桥", 7, "名字… · 桥"},
		{"Ann", " · irc", 3, "… · irc"},
		{"A", " · irc", 0, "A · irc"},
	} {
		if got := excerpt.WithSuffix(c.text, c.suffix, c.limit); got != c.want {
			t.Errorf("%q with %q in %d characters is %q, want %q", c.text, c.suffix, c.limit, got, c.want)
		}
	}
}
