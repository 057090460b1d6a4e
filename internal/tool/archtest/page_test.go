package archtest_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func architecture(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The architecture page lists each package in the row of its layer, and no others.
func TestThePageHasEachPackage(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*) \\|$").FindAllStringSubmatch(architecture(t), -1)
	listed := map[string]bool{} // layer/name
	for _, row := range rows {
		if _, err := os.Stat("../../" + row[1]); err != nil {
			continue // of another table
		}
		for _, name := range regexp.MustCompile("`([a-z0-9]+)`").FindAllStringSubmatch(row[2], -1) {
			listed[row[1]+"/"+name[1]] = true
		}
	}
	packages, err := filepath.Glob("../../*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range packages {
		if info, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		} else if !info.IsDir() {
			continue // a file of package app
		}
		name := strings.TrimPrefix(filepath.ToSlash(dir), "../../")
		if !listed[name] {
			t.Errorf("docs/architecture.md lacks %s in the row of its layer", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		parts, err := filepath.Glob("../../" + path.Dir(name) + "/*/" + path.Base(name))
		deeper, err2 := filepath.Glob("../../" + path.Dir(name) + "/*/*/" + path.Base(name))
		if parts = slices.Concat(parts, deeper); err != nil || err2 != nil || len(parts) != 1 {
			t.Errorf("docs/architecture.md has %s, which is not a package of that layer", name)
		}
	}
}

// Each step of the walkthrough is a function in the file that the page names.
func TestWalkthroughNamesFunctions(t *testing.T) {
	steps := regexp.MustCompile(`(?m)^ *(\w+)\.\(\*(\w+)\)\.(\w+) +(\w+\.go) `).FindAllStringSubmatch(architecture(t), -1)
	if len(steps) < 10 {
		t.Fatalf("the walkthrough has %d steps, want at least 10; the pattern must have changed", len(steps))
	}
	for _, s := range steps {
		files, err := filepath.Glob("../../*/" + s[1] + "/" + s[4])
		deeper, err2 := filepath.Glob("../../*/*/" + s[1] + "/" + s[4])
		if files = slices.Concat(files, deeper); err != nil || err2 != nil || len(files) != 1 {
			t.Errorf("step %s: got files %v, want one", s[0], files)
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(text), " *"+s[2]+") "+s[3]+"(") {
			t.Errorf("%s has no (*%s).%s: %v", files[0], s[2], s[3], err)
		}
	}
}
