package terminal

import (
	"os"
	"strings"
)

// style is the parameter of an ANSI escape sequence; empty for none.
type style string

const (
	bold  style = "1"
	faint style = "2"
	red   style = "31"
)

// senderStyles are the colours of other users' names. None is red, which is for errors, and all are legible on black and on white.
var senderStyles = []style{"32", "33", "34", "35", "36", "92", "94", "95"}

// paint returns text a style, where the screen has colours. What other users wrote has no escape sequences of its own: see plain.
func (s *screen) paint(st style, text string) string {
	if !s.colours || st == "" || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// senderStyle is the same for a user at all times.
func (s *screen) senderStyle(user uint64) style {
	if user == s.client.User() {
		return bold
	}
	return senderStyles[(user>>22)%uint64(len(senderStyles))] // the lower bits count within a millisecond
}

// paintLine returns a line of the program itself its style, by how it begins: an error, a notice, or a heading.
func (s *screen) paintLine(text string) string {
	st := style("")
	switch {
	case strings.HasPrefix(text, "! "):
		st = red
	case strings.HasPrefix(text, "* "), strings.HasPrefix(text, "       ("):
		st = faint
	case strings.HasPrefix(text, "--- "):
		st = bold
	}
	return s.paint(st, text)
}

// hasColours reports whether the user wants colours in a terminal: see https://no-color.org.
func hasColours() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
