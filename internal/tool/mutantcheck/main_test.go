package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Changes of real files, checked together: of packages of the server, and of the SDK, which is a module of its own.
func TestFindsChangesThatDoNotCompile(t *testing.T) {
	const backoff, ids, limiter = "internal/base/backoff/backoff.go", "sdk/go/ids/flakes.go", "internal/base/ratelimit/limiter.go"
	cases := []struct {
		name, file, old, new string
		want                 string // a part of the error; nothing: it compiles
	}{
		{"a constant", backoff, "ceiling *= 2", "ceiling *= 3", ""},
		{"a comment in the SDK", ids, "\n// Flakes", "\n\n// It is said:\n// Flakes", ""},
		{"a wrong type", backoff, "ceiling *= 2", "ceiling = false", "cannot use false"},
		{"a wrong type in the SDK", ids, "\n// Flakes", "\nvar wrong int = false\n\n// Flakes", "cannot use false"},
		{"an unused variable", backoff, "ceiling *= 2", "twice := 2 * ceiling", "declared and not used: twice"},
		{"an unused import", backoff, "least + rand.N(max(most-least, 0)+1)", "least", `"math/rand/v2" imported as rand and not used`},
		{"no return", backoff, "return spread(min(", "_ = spread(min(", "missing return"},
		{"no Go", backoff, "ceiling *= 2", "ceiling *= ", "expected operand"},
		{"a function that another file calls", limiter, "func New[", "func other[", "undefined: New"},
		{"a field that a test in the package reads", "internal/base/overload/limiter.go", "working", "working2", "working undefined"},
		{"a file for other systems", "internal/transport/gateway/poll_other.go", "package", "package", "not built on this system"},
	}
	var list strings.Builder
	folder := t.TempDir()
	for n, c := range cases {
		source, err := os.ReadFile("../../../" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), c.old) {
			t.Fatalf("%s: %s has no %q", c.name, c.file, c.old)
		}
		mutated := filepath.Join(folder, strconv.Itoa(n)+".go")
		if err := os.WriteFile(mutated, []byte(strings.ReplaceAll(string(source), c.old, c.new)), 0o600); err != nil {
			t.Fatal(err)
		}
		list.WriteString(c.file + "\t" + mutated + "\n")
	}
	var out strings.Builder
	if err := run(strings.NewReader(list.String()), &out); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out.String()) {
		mutated, failure, _ := strings.Cut(line, "\t")
		found[mutated] += failure
	}
	for n, c := range cases {
		failure := found[filepath.Join(folder, strconv.Itoa(n)+".go")]
		if (failure == "") != (c.want == "") || !strings.Contains(failure, c.want) {
			t.Errorf("%s: the check reports %q, want %q", c.name, failure, c.want)
		}
	}
}

func TestALineWithoutAReplacementIsRefused(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader("internal/base/backoff/backoff.go\n"), &out); err == nil || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
