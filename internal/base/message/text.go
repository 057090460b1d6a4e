package message

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// blank characters are letters and symbols by category, but invisible.
const blank = "\u115f\u1160\u2800\u3164\uffa0\U0001d159"

// isSeen reports whether a character is visible by itself. Marks (accents, variation selectors) are not: they change the previous letter.
func isSeen(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.M, r) && !strings.ContainsRune(blank, r)
}

// HasVisible reports whether a text of valid UTF-8 has a visible character.
func HasVisible(text []byte) bool { return bytes.ContainsFunc(text, isSeen) }

func isLineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isForbidden reports controls other than line breaks and tabs, and characters that change the direction of the following text.
func isForbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && !isLineBreak(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// IsParagraph reports whether a text may be shown among others, such as a caption or a bio: it is valid UTF-8, has no control character
// but line breaks and tabs, does not change the direction of the following text, and has no stacked marks. It may be empty.
func IsParagraph(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, isForbidden) && !hasStackedMarks(text)
}

// IsLine reports whether a text may be shown in a line with others, such as a file's name or a label: a paragraph without line breaks,
// tabs and the replacement character.
func IsLine(text string) bool {
	breaks := func(r rune) bool { return isLineBreak(r) || r == '\t' || r == utf8.RuneError }
	return IsParagraph(text) && !strings.ContainsFunc(text, breaks)
}

// IsName reports whether a text may be a name: a line with at least one visible character, and without characters that
// are not seen.
func IsName(text string) bool {
	return IsLine(text) && !hasInvisible(text) && strings.ContainsFunc(text, isSeen)
}

// TextRule ends the error of a text that is neither a paragraph nor a line.
const TextRule = ", without control and text-direction characters, and without more than six marks on one letter"

// IsText reports whether a text is shown as it is: it has at most a number of characters, is valid (IsParagraph, IsLine), and has something to see
// unless it is empty.
func IsText(text string, most int, isValid func(string) bool) bool {
	return len(text) <= utf8.UTFMax*most && utf8.RuneCountInString(text) <= most && isValid(text) && (text == "" || HasVisible([]byte(text)))
}

// MaxReason of what an operator or a moderator gives as the reason of an action, in characters.
const MaxReason = 500

// IsReason reports whether a text may be such a reason; it may be empty.
func IsReason(text string) bool { return IsText(text, MaxReason, IsParagraph) }

// IsToken reports whether a text may be the token by which a client repeats a request: 1 to 64 bytes of printable ASCII.
func IsToken(text string) bool {
	return text != "" && len(text) <= MaxToken && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// MaxText bounds the characters (code points) of a message's text.
const MaxText = 100_000

// MaxToken bounds the bytes of a token.
const MaxToken = 64

// maxMarks bounds the marks above, below and around one letter. Languages need up to five; more would cover the adjacent lines.
const maxMarks = 6

// hasStackedMarks reports whether a letter has so many combining marks that they cover the adjacent lines. It counts in
// decomposed form, so that the answer is the same for all forms of a text.
func hasStackedMarks(text string) bool {
	marks := 0
	for _, r := range norm.NFD.String(text) {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > maxMarks {
				return true
			}
		case !unicode.In(r, unicode.Mc, unicode.Cf): // these do not start a letter
			marks = 0
		}
	}
	return false
}

// IsLink reports whether an address may be opened by a click: http or https with a host, or mailto with an address.
func IsLink(address string) bool {
	if !IsLine(address) || strings.ContainsFunc(address, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Hostname() != ""
	case "mailto":
		return strings.Contains(u.Opaque, "@")
	}
	return false
}
