package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each decision record has a number of its own, and the same number in its title.
func TestDecisionNumbersAreUnique(t *testing.T) {
	records, err := filepath.Glob("../../../docs/decisions/[0-9]*.md")
	if err != nil || len(records) < 70 {
		t.Fatalf("%d decision records, want at least 70; error %v", len(records), err)
	}
	first := map[int]string{}
	for _, record := range records {
		name := filepath.Base(record)
		digits, _, _ := strings.Cut(name, "-")
		n, err := strconv.Atoi(digits)
		if err != nil || len(digits) != 4 {
			t.Errorf("docs/decisions/%s: a name begins with a number of four digits and a hyphen", name)
			continue
		}
		if first[n] != "" {
			t.Errorf("docs/decisions: %s and %s have the same number: rename one to the next free number", first[n], name)
		}
		first[n] = name
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		if title := "# " + strconv.Itoa(n) + ". "; !strings.HasPrefix(string(text), title) {
			t.Errorf("docs/decisions/%s: its title must begin with %q", name, title)
		}
	}
}

// A test that the documents name exists, for instance `TestDocumentsNameTests`.
func TestDocumentsNameTests(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	err := filepath.WalkDir("../../..", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && (e.Name() == "node_modules" || e.Name() == ".git") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(p, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(p)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w*)`")
	found := 0
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if found++; !tests[m[1]] {
					t.Errorf("%s:%d: no test is called %s", strings.TrimPrefix(page, "../../../"), i+1, m[1])
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("the documents name %d tests; the pattern must have changed", found)
	}
}
