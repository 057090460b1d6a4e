package terminal

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// keysOf reads lines until the input ends, and returns them with the content of the last row.
func keysOf(t *testing.T, keys string, columns int) (lines []string, out string) {
	t.Helper()
	var screen strings.Builder
	k := newKeyboard(strings.NewReader(keys), &screen, func() int { return columns }, func(string) {})
	k.Prompt("> ")
	for {
		line, err := k.Line()
		if errors.Is(err, io.EOF) {
			return lines, screen.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

func TestKeys(t *testing.T) {
	for keys, want := range map[string][]string{
		"hello\r":                         {"hello"},
		"a\nb\r":                          {"a", "b"},
		"helo\x1b[Dl\r":                   {"hello"},
		"ello\x1b[Hh\x1b[F!\r":            {"hello!"},
		"ello\x01h\x05!\r":                {"hello!"},
		"ello\x1bOHh\x1b[4~!\r":           {"hello!"},
		"heyy\x7fllo\x1b[3~\r":            {"heyllo"},
		"xhi\x01\x1b[3~\r":                {"hi"},
		"xhi\x01\x04\r":                   {"hi"},
		"你好👋\x7f\x7f们\r":                  {"你们"},
		"one two \x17three\r":             {"one three"},
		"gone\x15here\r":                  {"here"},
		"keep this\x01\x1b[C\x0b\r":       {"k"},
		"gone\x03here\r":                  {"here"},
		"one\rtwo\r\x1b[A\x1b[A!\r":       {"one", "two", "one!"},
		"one\r\x1b[A\x1b[Btwo\r":          {"one", "two"},
		"\x1b[A\x1b[B\x7f\x1b[D.\r":       {"."},
		"\x1b[200~a\r\nb\x1b[201~\r":      {"a\n\nb"},
		"\x1b[200~/quit\n\x1b[201~":       nil,
		"a\x1b[1;5Cb\x1b[99~c\r":          {"abc"},
		"\x07\x00\x02a\x1bfb\r":           {"ab"},
		"left\x03\x03not read\r":          nil,
		"\x04not read\r":                  nil,
		"\x1b[" + strings.Repeat("1", 50): nil,
	} {
		got, _ := keysOf(t, keys, 80)
		if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("keys %q: got %q, want %q", keys, got, want)
		}
	}
}

// Lines are printed above the input, which stays complete.
func TestLinesArePrintedAboveTheInput(t *testing.T) {
	in, keys := io.Pipe()
	var screen strings.Builder
	typed := make(chan string)
	k := newKeyboard(in, &screen, func() int { return 80 }, func(text string) { typed <- text })
	k.Prompt("Bob> ")
	line := make(chan string)
	go func() {
		l, _ := k.Line()
		line <- l
	}()
	go io.WriteString(keys, "hi")
	<-typed
	if text := <-typed; text != "hi" {
		t.Errorf("the key callback: got %q", text)
	}
	k.Say("08:00  Bob: two\n         lines")
	if s := screen.String(); !strings.HasSuffix(s, "\r\x1b[2K08:00  Bob: two\r\n         lines\r\n\r\x1b[2KBob> hi") {
		t.Errorf("the screen: got %q", s)
	}
	go io.WriteString(keys, "\r")
	if l := <-line; l != "hi" {
		t.Errorf("the line: got %q", l)
	}
}

// A password is not shown, and is not in the line history.
func TestThePasswordIsNotShown(t *testing.T) {
	var screen strings.Builder
	k := newKeyboard(strings.NewReader("secret\r\x1b[A!\r"), &screen, func() int { return 80 }, func(text string) { t.Errorf("a secret key reached the callback: %q", text) })
	if p, err := k.Ask("Password: ", true); err != nil || p != "secret" {
		t.Errorf("the password: got %q, %v", p, err)
	}
	k.pressed = func(string) {}
	if l, err := k.Line(); err != nil || l != "!" {
		t.Errorf("the recalled line: got %q, %v", l, err)
	}
	if strings.Contains(screen.String(), "secret") || strings.Contains(screen.String(), "s\r") {
		t.Errorf("the screen: got %q, want no secret", screen.String())
	}
}

// Pasted text is shown once it is complete, with a symbol for each line end.
func TestPastedTextIsShown(t *testing.T) {
	_, out := keysOf(t, "a\x1b[200~b\nc\x1b[201~", 80)
	if !strings.HasSuffix(out, "\r\x1b[2K> ab↵c") || strings.Contains(out, "> ab\r") {
		t.Errorf("the screen: got %q", out)
	}
}

// For any input and cursor position, the row is narrower than the screen.
func TestInputFitsTheScreen(t *testing.T) {
	for _, text := range []string{strings.Repeat("long ", 40), strings.Repeat("你好", 60), strings.Repeat("é👨‍👩‍👧", 30), strings.Repeat("line\n", 30)} {
		for _, columns := range []int{20, 21, 80} {
			keys := "\x1b[200~" + text + "\x1b[201~" + strings.Repeat("\x1b[D", utf8.RuneCountInString(text)/2) + "\x01\x05"
			_, out := keysOf(t, keys, columns)
			for _, row := range strings.Split(out, "\r\x1b[2K")[1:] {
				row, _, _ = strings.Cut(row, "\x1b")
				if n := cells([]rune(row)); n >= columns {
					t.Fatalf("row width: got %d cells on a screen of %d: %q", n, columns, row)
				}
			}
		}
	}
}

// FuzzKeyboard: no byte sequence causes a panic, and no line contains a control character that was not pasted.
func FuzzKeyboard(f *testing.F) {
	for _, s := range []string{"a\r", "\x1b[A\x7f\x15\x17", "\x1b[200~x\x1b[201~\r", "\xff\xfe\r", "\x1b", "\x1b[", "你\x1b[D\x04\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		k := newKeyboard(strings.NewReader(keys), io.Discard, func() int { return 20 }, func(string) {})
		for {
			line, err := k.Line()
			if err != nil {
				return
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
				t.Errorf("got line %q with a control character, from keys %q", line, keys)
			}
		}
	})
}
