// Package printable makes other people's text safe to print on a terminal: errors, arguments of jobs, names that users chose. It also formats counts with their nouns.
package printable

import "strings"

// Text removes characters that control the terminal: control characters and text direction overrides. Line feeds and tabs stay.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Line is Text as one line, with single spaces between words.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }
