package auth_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/auth"
)

func TestWeakPasswords(t *testing.T) {
	for what, list := range map[string][]string{
		"common":         {"password", "Password", "PASSWORD", "iloveyou", "football", "princess", "superman", "trustno1", "starwars", "baseball"},
		"dressed":        {"password1", "Password123!", "p@ssw0rd", "P@$$w0rd2024", "dragon2026", "123monkey!", "pa55word!", "ｐａｓｓｗｏｒｄ"},
		"in order":       {"12345678", "123456789", "87654321", "abcdefgh", "abcd1234", "qwertyui", "QWERTYUIOP", "asdfghjkl", "1qaz2wsx", "1qaz2wsx3edc", "qwertz123", "abc123xyz", "11112222"},
		"repeated":       {"aaaaaaaa", "abababab", "xkcdxkcd", "12121212", "xkxkkxxk", "密码密码密码密码", "        "},
		"about the user": {"rialto2026", "Rialto-2026!", "Rialto-password", "rialtorialto", "alice.jones", "Alice1234", "AliceJones!", "jonesalice99", "alice-orange", "ALICEalice"},
	} {
		for _, p := range list {
			if !auth.Weak(p, "alice.jones", "Alice Jones") {
				t.Errorf("%s: %q was accepted, want weak", what, p)
			}
		}
	}
	for _, p := range []string{"correct horse", "battery staple", "a good password", "another password", "alice and the cheshire cat", "x7Kq-2mVn", "пароль от моря", "今天天气真的不错呀", "rialto bridge at dawn"} {
		if auth.Weak(p, "alice.jones", "Alice Jones") {
			t.Errorf("%q was rejected as weak", p)
		}
	}
	if auth.Weak("alice-cooking", "bo", "") || auth.Weak("bob-8-cooking", "bo b", "o") {
		t.Error("a password was rejected because of a name of one or two letters")
	}
}

// The list has each password in the form in which Weak compares it, and no password that the patterns find.
func TestWeakPasswordListIsMinimal(t *testing.T) {
	raw, err := os.ReadFile("common.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "# ") {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(list) < 8000 || len(list) > 12_000 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
		t.Errorf("got %d passwords, want 8,000 to 12,000, sorted and without duplicates", len(list))
	}
	for _, p := range list {
		if p != auth.Plain(p) || auth.Patterned(p) {
			t.Errorf("%q is redundant in the list: it is not normalized, or a pattern finds it", p)
		}
	}
}

// FuzzWeak: Weak accepts any text, and the user's own name is always weak.
func FuzzWeak(f *testing.F) {
	f.Add("password", "alice")
	f.Add("\xff\xfe", "\x00")
	f.Add("ﷺﷺﷺ", "İ")
	f.Fuzz(func(t *testing.T, password, about string) {
		if len(password) > 2048 || len(about) > 256 {
			return
		}
		auth.Weak(password, about)
		if utf8.RuneCountInString(auth.Plain(about)) >= 3 && !auth.Weak(about, password, about) && !auth.Weak(about, about) {
			t.Errorf("%q was accepted for a user of this name", about)
		}
	})
}
