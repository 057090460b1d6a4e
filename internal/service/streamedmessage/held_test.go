package streamedmessage

import (
	"strings"
	"testing"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Each character is found where it begins, whatever lies before it, and few characters are read for that.
func TestCharactersOfALongText(t *testing.T) {
	h := &held{}
	var all []rune
	for _, part := range []string{strings.Repeat("a", 3000), strings.Repeat("é", 2500), "𝄞", strings.Repeat("a很", 700)} {
		h.append(part, utf8.RuneCountInString(part))
		all = append(all, []rune(part)...)
	}
	for n := 0; n <= len(all); n += 61 {
		if at := h.index(n); string(h.text[:at]) != string(all[:n]) {
			t.Fatalf("character %d is said to begin at byte %d", n, at)
		}
	}
	if want := len(all) / markInterval; len(h.marks) != want || h.length != len(all) {
		t.Errorf("%d characters have %d marks, want %d", h.length, len(h.marks), want)
	}
}

// A part that the server has already, or that is empty, costs no copy of a long text.
func TestRepeatedPartsCopyNothing(t *testing.T) {
	h := &held{}
	h.append(strings.Repeat("é", 100_000), 100_000)
	for what, p := range map[string]*chatv1.StreamedPart{
		"an empty part at the beginning": {}, "an empty part in the middle": {Offset: 50_001}, "a repeated character": {Offset: 1, Text: "é"}, "another character": {Offset: 1, Text: "e"},
	} {
		allocated := testing.AllocsPerRun(10, func() { _, _ = h.added(p) }) //nolint:errcheck // of another character it is one
		if allocated != 0 {
			t.Errorf("%s allocates memory %v times", what, allocated)
		}
	}
}
