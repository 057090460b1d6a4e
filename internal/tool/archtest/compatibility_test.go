package archtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSharedFormatsAreDocumented compares docs/formats/compatibility.md with the code: the newest protocol is the one that the build
// speaks, each format page has a row, each named test exists, and the checksum of each page's examples is current.
func TestSharedFormatsAreDocumented(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("docs/formats/compatibility.md")

	code := regexp.MustCompile(`(?m)^\tSpeaks += (\d+)\n\tUnderstands = (\d+)$`).FindStringSubmatch(read("internal/platform/cluster/protocol.go"))
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \|`).FindAllStringSubmatch(page, -1)
	if code == nil || len(rows) == 0 {
		t.Fatalf("the protocols were not found: %q, %q", code, rows)
	}
	if newest := rows[len(rows)-1]; newest[1] != code[1] || newest[2] != code[2] {
		t.Errorf("the build speaks %s and understands %s; the page's newest protocol is %s, which understands %s", code[1], code[2], newest[1], newest[2])
	}
	for i, r := range rows {
		if r[1] != fmt.Sprint(i+1) {
			t.Errorf("row %d of the protocols is about protocol %s, want %[1]d: each protocol has one row, in order", i+1, r[1])
		}
	}

	pages, err := filepath.Glob("../../../docs/formats/*.md")
	if err != nil {
		t.Fatal(err)
	}
	held := page[strings.Index(page, "## What holds it"):]
	for _, p := range pages {
		name := filepath.Base(p)
		if name == "compatibility.md" {
			continue
		}
		row := regexp.MustCompile(`(?m)^\| [^|]+ \| \[` + regexp.QuoteMeta(name) + `\]\(` + regexp.QuoteMeta(name) + `\) \| ([^|]+) \|`).FindStringSubmatch(held)
		if row == nil {
			t.Errorf("docs/formats/compatibility.md does not name the test of %s", name)
			continue
		}
		if blocks := strings.Split(read("docs/formats/"+name), "\n```\n"); row[1] != "in the test" {
			sum := sha256.Sum256([]byte(blocks[max(0, len(blocks)-2)]))
			if got := hex.EncodeToString(sum[:4]); row[1] != got {
				t.Errorf("the examples of %s have the checksum %s; docs/formats/compatibility.md has %s. Can the previous release read the new examples?", name, got, row[1])
			}
		}
	}

	tests := map[string]bool{}
	err = filepath.WalkDir("../..", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(held, -1) {
		if !tests[m[1]] {
			t.Errorf("docs/formats/compatibility.md names the test %s, which does not exist", m[1])
		}
	}
}
