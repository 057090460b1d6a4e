package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands page documents each field that bench and verify print as JSON, because programs read them.
func TestTheCommandsPageHasEachField(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	bench, err := filepath.Glob("../bench/*.go")
	if err != nil {
		t.Fatal(err)
	}
	verify, err := filepath.Glob("../verify/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, file := range slices.Concat(bench, verify) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`json:\"(\\w+)[,\"]").FindAllSubmatch(text, -1) {
			fields++
			if !strings.Contains(string(page), "`"+string(m[1])+"`") {
				t.Errorf("docs/operating/commands.md lacks the field %s of %s", m[1], file)
			}
		}
	}
	if fields < 30 {
		t.Errorf("only %d fields were found", fields)
	}
}
