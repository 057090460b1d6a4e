package message_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/message"
)

func TestPlaceholderTexts(t *testing.T) {
	for _, test := range []struct {
		name, text          string
		visible, line, good bool
	}{
		{"a word", "hello", true, true, true},
		{"Chinese", "你好", true, true, true},
		{"Hindi", "नमस्ते", true, true, true},
		{"Persian with a joiner", "می\u200cخواهم", true, true, true},
		{"a family", "👩\u200d👩\u200d👧", true, true, true},
		{"a flag by tags", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", true, true, true},
		{"a keycap", "1\ufe0f\u20e3", true, true, true},
		{"Vietnamese in parts", "e\u0302\u0301n", true, true, true},
		{"Thai", "ที่ตั้งปั๊ม", true, true, true},
		{"Hebrew with vowels and accents", "שָּׁ֖לֹום", true, true, true},
		{"Burmese", "ကျွန်ုပ်တို့", true, true, true},
		{"Tibetan", "བསྒྲུབས་རྗེསུ", true, true, true},
		{"six marks", "a" + strings.Repeat("\u0301", 6) + "b" + strings.Repeat("\u0301", 6), true, true, true},
		{"seven marks", "ba" + strings.Repeat("\u0301", 7) + "b", true, false, false},
		{"seven marks in two places", "a\u0301\u0301\u0301\u0301\u0323\u0323\u0323", true, false, false},
		{"six marks, one composed", "\u00e1" + strings.Repeat("\u0301", 5), true, true, true},
		{"seven marks, one composed", "\u00e1" + strings.Repeat("\u0301", 6), true, false, false},
		{"marks behind joiners", "a" + strings.Repeat("\u0301\u200d", 7), true, false, false},
		{"circles", "a" + strings.Repeat("\u20dd", 7), true, false, false},
		{"nothing", "", false, true, false},
		{"spaces", " \u3000\u00a0", false, true, false},
		{"one combining mark", "\u0301", false, true, false},
		{"combining marks", "\u0301\u20dd\u0903", false, true, false},
		{"a variation selector", "\ufe0f\U000e0100", false, true, false},
		{"zero widths", "\u200b\u200d\ufeff\u2060", false, true, false},
		{"fillers", "\u115f\u1160\u3164\uffa0\u2800\U0001d159", false, true, false},
		{"a zero width in a name", "ad\u200bmin", true, true, false},
		{"a soft hyphen", "ad\u00admin", true, true, false},
		{"a right-to-left mark", "a\u200f", true, true, false},
		{"an override", "\u202egpj.exe", true, false, false},
		{"an embedding", "a\u202a", true, false, false},
		{"an isolate", "a\u2066b\u2069", true, false, false},
		{"a newline", "a\nb", true, false, false},
		{"a line separator", "a\u2028b", true, false, false},
		{"a paragraph separator", "a\u2029b", true, false, false},
		{"next line", "a\u0085b", true, false, false},
		{"a tab", "a\tb", true, false, false},
		{"U+0000", "a\x00", true, false, false},
		{"an escape", "\x1b[31m", true, false, false},
		{"not UTF-8", "a\xff", true, false, false},
	} {
		if got := message.HasVisible([]byte(test.text)); got != test.visible {
			t.Errorf("%s (%q) shows something: %v", test.name, test.text, got)
		}
		if got := message.IsLine(test.text); got != test.line {
			t.Errorf("%s (%q) is a line: %v", test.name, test.text, got)
		}
		if got := message.IsName(test.text); got != test.good {
			t.Errorf("%s (%q) is a name: %v", test.name, test.text, got)
		}
	}
}

// A name contains no invisible character, unless it is part of a visible one.
func TestInvisibleCharactersInNames(t *testing.T) {
	for name, text := range map[string]string{
		"a red heart": "❤\ufe0f", "a heart as text": "❤\ufe0e", "a heart on fire": "Ann ❤\ufe0f\u200d🔥", "a rainbow flag": "🏳\ufe0f\u200d🌈",
		"an astronaut": "🧑🏽\u200d🚀", "an arrow": "↔\ufe0f", "a head that shakes": "🙂\u200d↔\ufe0f", "information": "ℹ\ufe0f",
		"keycaps": "#\ufe0f\u20e3*\ufe0f\u20e30\ufe0f\u20e3", "Wales and Texas": "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f🏴\U000e0075\U000e0073\U000e0074\U000e0078\U000e007f",
		"a new emoji": "a \U0001fae9\ufe0f", "Katsushika": "葛\U000e0100飾", "Tsuji": "辻\U000e0101", "a standard variant": "㐂\ufe00", "Sri": "ශ\u0dca\u200dරී", "a Malayalam end": "മോഹന\u0d4d\u200d",
		"a Nepali joiner": "गर\u094d\u200dयो", "Persian digits": "۵\u200cام", "Bengali ya": "র\u200d\u09cdয", "Arabic with vowels": "مِ\u200cم", "Mongolian": "ᠰᠠᠷ\u180eᠠ ᠭ\u180b",
		"an Arabic number sign": "\u0600\u0661",
	} {
		if !message.IsName(text) {
			t.Errorf("%s (%+q) was rejected as a name", name, text)
		}
	}
	for name, hidden := range map[string]string{
		"tags": "\U000e0061\U000e0062\U000e0063\U000e007f", "the end of tags": "\U000e007f", "the language tag": "\U000e0001", "an emoji's selector": "\ufe0f", "a text's selector": "\ufe0e",
		"a selector": "\ufe00", "an ideograph's selector": "\U000e0100", "the last selector": "\U000e01ef", "a grapheme joiner": "\u034f", "Mongolian selectors": "\u180b", "a fourth": "\u180f",
		"a vowel separator": "\u180e", "Khmer vowels": "\u17b4", "another": "\u17b5", "a Hangul filler": "\u3164", "a leading filler": "\u115f", "a vowel's filler": "\u1160", "a half filler": "\uffa0",
		"an empty Braille cell": "\u2800", "unassigned and ignored": "\u2065", "specials": "\ufff0", "the last special": "\ufff8", "private use": "\ue000", "the last private use": "\uf8ff",
		"plane 15": "\U000f0000", "plane 16": "\U0010fffd", "a noncharacter": "\ufdd0", "a zero width space": "\u200b", "a joiner": "\u200d", "a non-joiner": "\u200c", "a word joiner": "\u2060",
	} {
		for _, text := range []string{"a" + hidden + "b", hidden + "a", "a" + hidden, "a " + hidden, "1" + hidden, "名 " + hidden, "م" + hidden, "😀" + hidden + hidden} {
			if message.IsName(text) {
				t.Errorf("%s: %+q was accepted as a name", name, text)
			}
		}
	}
	for name, text := range map[string]string{
		"tags without an end": "🏴\U000e0067\U000e0062\U000e0065", "tags of a face": "😀\U000e0067\U000e0062\U000e0065\U000e007f", "too many tags": "🏴" + strings.Repeat("\U000e0061", 7) + "\U000e007f",
		"a flag with an end only": "🏴\U000e007f", "two selectors": "葛\U000e0100\U000e0100", "two emoji selectors": "❤\ufe0f\ufe0f", "two non-joiners": "م\u200c\u200cم",
		"a joiner between Latin letters": "a\u200db", "between scripts": "a\u200cم", "a joiner after an emoji": "👩\u200d", "a joiner and a letter": "👩\u200da", "a digit without a keycap": "1\ufe0f",
		"a keycap of a letter": "a\ufe0f\u20e3", "a selector after a blank cell": "a\u2800\ufe0f", "zero width in Arabic": "م\u200bم", "joiners between Chinese": "名\u200d名",
	} {
		if message.IsName(text) {
			t.Errorf("%s: %+q is a name", name, text)
		}
	}
}

func TestParagraphs(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a\r\nb\tc\u2028d\u2029e": true, "a\u200f": true, "a" + strings.Repeat("\u0323", 6): true,
		"a\x00": false, "a\x1b[2J": false, "a\x7f": false, "a\u009b": false, "a\xff": false, "a\u202eb": false, "a\u202ab": false, "a\u2066b": false, "a\u2069b": false, "a" + strings.Repeat("\u0323", 7): false,
	} {
		if got := message.IsParagraph(text); got != want {
			t.Errorf("IsParagraph(%+q): got %v, want %v", text, got, want)
		}
	}
}

func TestLinks(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/a?b=c#d": true, "http://[::1]:80/": true, "HTTPS://EXAMPLE.COM": true, "mailto:a@example.com": true, "https://例え.jp/": true,
		"": false, "example.com": false, "//example.com": false, "https://": false, "https:example.com": false, "http:///x": false, "mailto:": false, "mailto:nobody": false,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, "java\nscript:alert(1)": false, " javascript:alert(1)": false, "data:text/html,x": false,
		"vbscript:x": false, "file:///etc/passwd": false, "blob:https://example.com/x": false, "https://exa mple.com": false, "https://example.com/\u202egpj": false, "https://example.com/\n": false,
	} {
		if got := message.IsLink(address); got != want {
			t.Errorf("IsLink(%q): got %v, want %v", address, got, want)
		}
	}
}

// A name is a visible line, and neither a name nor a line affects the text around it.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"a", "\u202ea", "\u0301", "a\nb", "a\xff", "👩\u200d👧", "javascript:x", "https://example.com"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if message.IsName(text) && (!message.IsLine(text) || !message.HasVisible([]byte(text))) {
			t.Errorf("%q was accepted as a name, but is not a line, or is invisible", text)
		}
		if message.IsLine(text) && (!utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsAny(text, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")) {
			t.Errorf("%q was accepted as a line, but affects the text around it", text)
		}
		if message.IsLink(text) {
			scheme, _, _ := strings.Cut(strings.ToLower(text), ":")
			if !message.IsLine(text) || scheme != "http" && scheme != "https" && scheme != "mailto" {
				t.Errorf("%q was accepted as a link", text)
			}
		}
	})
}

// What is left of a text as a name is a name, and a name stays as it is.
func TestCleanName(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"Zo\u00eb \U0001f98a", 64, "Zo\u00eb \U0001f98a"}, {"\U0001f469\u200d\U0001f52c", 64, "\U0001f469\u200d\U0001f52c"}, {"\u200da\u200d", 64, "a"}, {" a\tb\r\n c ", 64, "a b c"}, {"a\u2066b\x00\ufffd\xff", 64, "ab"},
		{"\u3164\u2800", 64, ""}, {"", 64, ""}, {"abc", 2, "ab"}, {"a\U0001f469\u200d\U0001f52c", 3, "a\U0001f469"}, {"a" + strings.Repeat("\u0300", 20), 64, "\u00e0" + strings.Repeat("\u0300", 5)},
	} {
		got := message.CleanName(c.text, c.most)
		if got != c.want || got != "" && !message.IsName(got) {
			t.Errorf("%q is cleaned to %q, want %q", c.text, got, c.want)
		}
	}
}
