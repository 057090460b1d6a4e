package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// citation is a package and the tests of it that a row names: `chat`: `TestX`, `TestY`.
	citation  = regexp.MustCompile("`([a-z0-9]+)`: ((?:`Test[A-Z]\\w*`(?: \\([^)]*\\))?(?:, )?)+)")
	testName  = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	testFound = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
)

// Each row of the table of docs/consistency.md names tests, and its packages have them.
func TestEachKindOfDataHasTests(t *testing.T) {
	tests := testsByPackage(t)
	text, err := os.ReadFile("../../../docs/consistency.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 2 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "data" {
			continue
		}
		rows++
		if len(cells) != 7 {
			t.Errorf("docs/consistency.md:%d: a row has 5 cells, not %d", i+1, len(cells)-2)
			continue
		}
		named := 0
		for _, c := range citation.FindAllStringSubmatch(cells[5], -1) {
			for _, m := range testName.FindAllStringSubmatch(c[2], -1) {
				if named++; !tests[c[1]][m[1]] {
					t.Errorf("docs/consistency.md:%d: the package %s has no test %s", i+1, c[1], m[1])
				}
			}
		}
		if all := len(testName.FindAllString(cells[5], -1)); named == 0 || named != all {
			t.Errorf("docs/consistency.md:%d: %d of %d tests are named after their package; a row names at least one", i+1, named, all)
		}
	}
	if rows < 40 {
		t.Errorf("the table has %d rows; its form must have changed", rows)
	}
}

// testsByPackage returns the tests of this module by the name of their folder.
func testsByPackage(t *testing.T) map[string]map[string]bool {
	t.Helper()
	tests := map[string]map[string]bool{}
	err := filepath.WalkDir("../../../internal", func(p string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		folder := filepath.Base(filepath.Dir(p))
		for _, m := range testFound.FindAllStringSubmatch(string(text), -1) {
			if tests[folder] == nil {
				tests[folder] = map[string]bool{}
			}
			tests[folder][m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
