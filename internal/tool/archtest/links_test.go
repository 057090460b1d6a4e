package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each link in the documents leads to an existing file or folder, and to an existing heading or anchor.
func TestDocumentLinksResolve(t *testing.T) {
	pages := documents(t)
	anchors := map[string]map[string]bool{}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(m[1], "#")
			file := page
			if to != "" {
				file = filepath.Join(filepath.Dir(page), to)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %s leads nowhere: %v", page, m[1], err)
			} else if anchor != "" {
				if anchors[file] == nil {
					anchors[file] = anchorsOf(t, file)
				}
				if !anchors[file][anchor] {
					t.Errorf("%s: the page of the link %s lacks that heading or anchor", page, m[1])
				}
			}
		}
	}
}

// documents returns the paths of all Markdown pages at the root of the repository and in docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("../../../docs", func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".md") {
			pages = append(pages, p)
		}
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, want at least 20; error %v", len(pages), err)
	}
	return pages
}

// anchorsOf returns the anchors of a page: the explicit ones, and those that GitHub derives from headings.
func anchorsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}
