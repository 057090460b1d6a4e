package printable_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/printable"
)

func TestTextHasNoControlCharacters(t *testing.T) {
	for text, want := range map[string][2]string{
		"ünï 名\t1\n2":           {"ünï 名\t1\n2", "ünï 名 1 2"},
		"\x1b[2Ja\rb\x00\x7f":   {"[2Jab", "[2Jab"},
		"a\u009b31mb":           {"a31mb", "a31mb"},
		"a\u202eb\u2066c\u2069": {"abc", "abc"},
		"a\u2028b\u2029c":       {"a\nb\nc", "a b c"},
		"a\xff":                 {"a\uFFFD", "a\uFFFD"},
	} {
		if got := [2]string{printable.Text(text), printable.Line(text)}; got != want {
			t.Errorf("%q is printed as %q; want %q", text, got, want)
		}
	}
}

func TestThingsAreCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 posts, 0 replies, 0 keys", 1: "1 post, 1 reply, 1 key", 2: "2 posts, 2 replies, 2 keys"} {
		if got := printable.Count(n, "post") + ", " + printable.Count(n, "reply") + ", " + printable.Count(n, "key"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
