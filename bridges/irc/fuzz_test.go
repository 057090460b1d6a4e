package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// What comes from IRC is read as a text without what controls a screen. What goes there are lines without what controls IRC, each within its size.
func FuzzTexts(f *testing.F) {
	f.Add("Ann", "hello\r\nQUIT :x", 100)
	f.Add("<Ann>", "\x01ACTION waves\x01", 60)
	f.Add("\x03", "\x0312,4colour \x04ff00ff \xfflatin", 200)
	f.Add("", strings.Repeat("字", 500), 99)
	f.Fuzz(func(t *testing.T, name, text string, size int) {
		if got, ok := received(text); ok && (!utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl)) {
			t.Errorf("%q was read as %q", text, got)
		}
		if size < maxName+len("<> ")+utf8.UTFMax || size > maxLine {
			return
		}
		for _, line := range linesOf(name, text, size) {
			if len(line) > size || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("%q of %q became the line %q of %d bytes, of at most %d", text, name, line, len(line), size)
			}
		}
	})
}
