package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Long lines are divided between words, never within a character, and nothing of the text is lost. Control characters, which are commands and formats in IRC, are left out, and no name looks like the end of one.
func TestLinesOf(t *testing.T) {
	for text, want := range map[string][]string{
		"hello": {"<al ice> hello"}, "a\r\n\nb": {"<al ice> a", "<al ice> b"}, "\x01ACTION x\x01": {"<al ice> ACTION x"}, "\x0304,12red\x03 3\x04ff0000x\x02y": {"<al ice> red 3xy"}, "a\tb": {"<al ice> a b"}, " \n\x02": nil,
		"QUIT\r\nJOIN #other": {"<al ice> QUIT", "<al ice> JOIN #other"},
	} {
		if got := linesOf("al\x07> ice", text, 300); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for _, name := range []string{"alice", strings.Repeat("字", 64)} {
		size := lineSize("rialto", "#rialto")
		for _, text := range []string{strings.Repeat("wörter und ", 100), strings.Repeat("字", 500), strings.Repeat("x", 2000)} {
			var joined strings.Builder
			for _, line := range linesOf(name, text, size) {
				_, part, ok := strings.Cut(line, "> ")
				if len(line) > size || !utf8.ValidString(line) || !ok || !strings.HasPrefix(line, "<") {
					t.Errorf("a line has %d bytes: %q", len(line), line)
				}
				joined.WriteString(part)
			}
			if got, want := strings.ReplaceAll(joined.String(), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
				t.Errorf("%.40q… becomes %.40q…", want, got)
			}
		}
	}
	if line := len(":rialto_99!rialto@ PRIVMSG #rialto :\r\n") + 63 + lineSize("rialto", "#rialto"); line > 512 {
		t.Errorf("a line has %d bytes", line)
	}
}

func TestReceivedLines(t *testing.T) {
	for line, want := range map[string]string{"hello": "hello", "\x01ACTION waves\x01": "* waves", "\x01ACTION waves": "* waves", "\x01VERSION\x01": "", "\x02\x02 ": "", "caf\xe9": "café", "\x0312blue\x0f": "blue"} {
		if got, ok := received(line); ok != (want != "") || ok && got != want {
			t.Errorf("%q says %q (%v), want %q", line, got, ok, want)
		}
	}
}

func TestChannels(t *testing.T) {
	for name, want := range map[string]bool{"#rialto": true, "&local": true, "#a,#b": false, "#a b": false, "0": false, "#": false, "": false, "rialto": false, "#a\r\nQUIT": false, "#a\x07": false, "#" + strings.Repeat("x", 100): false} {
		if isChannel(name) != want {
			t.Errorf("isChannel(%q) is %v", name, !want)
		}
	}
}
