package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// codes maps the constants of errs.Kind to their codes.
var codes = map[string]string{
	"Internal": "internal", "Invalid": "invalid_argument", "NotFound": "not_found", "Conflict": "already_exists", "Denied": "permission_denied",
	"Unauthenticated": "unauthenticated", "Exhausted": "resource_exhausted", "Unavailable": "unavailable",
}

var reason = regexp.MustCompile(`(?:errs\.(?:New|Wrap)\(errs\.(\w+),\s*|\bError\{Kind:\s*(?:errs\.)?(\w+),\s*Reason:\s*)"(\w+)"`)

// Reasons returns the reason and code of each error that internal/ creates, as "reason code".
func Reasons(root string) (map[string]bool, error) {
	given := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range reason.FindAllStringSubmatch(string(text), -1) {
			given[m[3]+" "+codes[m[1]+m[2]]] = true
		}
		return err
	})
	return given, err
}
