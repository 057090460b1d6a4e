// Package excerpt truncates texts, for places that show or store only their beginning.
//
// Characters are Unicode code points, as in the limits of the API. What readers see as one character, such as a letter with accents or an emoji, may consist
// of several code points, and may be cut between them.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Of returns the beginning of a text: at most limit characters. A byte that is not UTF-8 counts as one.
func Of(text string, limit int) string {
	n := 0
	for i := range text {
		if n >= limit {
			return text[:i]
		}
		n++
	}
	return text
}

// Marked returns a text of at most limit characters. One that is longer is cut, and ends with an ellipsis (…), which counts. The limit is at least 1.
func Marked(text string, limit int) string {
	if len(Of(text, limit)) == len(text) {
		return text
	}
	return Of(text, limit-1) + "…"
}

// WithSuffix returns a text with a suffix, at most limit characters. Only the text is cut, to an ellipsis at least: the suffix stays, even if it is longer than the limit.
func WithSuffix(text, suffix string, limit int) string {
	return Marked(text, max(1, limit-utf8.RuneCountInString(suffix))) + suffix
}

// Bytes returns the beginning of a text: at most limit bytes. The result is valid UTF-8: it does not end within a character, and bytes that are not UTF-8 are
// left out.
func Bytes(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
