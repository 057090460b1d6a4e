package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/bridges/bridge"
)

const (
	// maxLines is how many lines a message becomes; longer ones are refused.
	maxLines = 20
	// maxName is how many bytes of a name stand before each line.
	maxName = 60
	// maxLine is how many bytes a line of IRC has without the line break, and maxHost how many of them user and host of the bridge can be, which the server adds for others.
	maxLine, maxHost = 510, 11 + 63
)

// lineSize returns how many bytes of text a line to a channel has: the server adds ":nick!user@host " for others.
func lineSize(nick, channel string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len("_99") - maxHost - len(channel)
}

// linesOf returns a text as lines of at most so many bytes, each with who wrote it. They are divided between words where that is possible, and never within a character.
func linesOf(name, text string, size int) (lines []string) {
	name = strings.Map(func(r rune) rune { // it ends where it seems to end
		if r == '<' || r == '>' {
			return -1
		}
		return r
	}, bridge.Line(plain(name), maxName))
	prefix := "<" + name[:cut(name, maxName)] + "> "
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		line = strings.TrimRightFunc(plain(line), unicode.IsSpace)
		for line != "" {
			part := line[:cut(line, size-len(prefix))]
			if at := strings.LastIndexByte(part, ' '); len(part) < len(line) && at > len(part)/2 {
				part = part[:at]
			}
			lines = append(lines, prefix+part)
			line = strings.TrimLeft(line[len(part):], " ")
		}
	}
	return lines
}

// cut returns how many bytes of a text are at most so many, and whole characters.
func cut(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// plain returns a text without control characters, which are formats and commands in IRC. Colours are followed by digits.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '\x03':
			i += colourDigits(text[i:])
		case r == '\x04': // a colour of six hexadecimal digits
			i += hexDigits(text[i:])
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || r == utf8.RuneError && size == 1:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// colourDigits returns how many bytes follow a colour: up to two digits, and a comma with up to two more.
func colourDigits(text string) (n int) {
	digits := func() {
		for range 2 {
			if n < len(text) && text[n] >= '0' && text[n] <= '9' {
				n++
			}
		}
	}
	if digits(); n > 0 && n+1 < len(text) && text[n] == ',' && text[n+1] >= '0' && text[n+1] <= '9' {
		n++
		digits()
	}
	return n
}

func hexDigits(text string) int {
	const digits = 6
	if len(text) < digits || strings.Trim(text[:digits], "0123456789abcdefABCDEF") != "" {
		return 0
	}
	return digits
}

// decode returns a text as UTF-8 without control characters. IRC has no encoding: what is not UTF-8 is read as Latin-1.
func decode(text string) string {
	if !utf8.ValidString(text) {
		latin := make([]rune, len(text))
		for n := range len(text) {
			latin[n] = rune(text[n])
		}
		text = string(latin)
	}
	return plain(text)
}

// received returns what a line of IRC says: the text, or what somebody does (/me). ok is false for other requests of programs, and for what says nothing.
func received(line string) (text string, ok bool) {
	if action, is := strings.CutPrefix(line, "\x01ACTION "); is {
		line = "* " + action
	} else if strings.HasPrefix(line, "\x01") {
		return "", false
	}
	text = decode(line)
	return text, strings.TrimSpace(text) != ""
}
