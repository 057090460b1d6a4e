package organization

import (
	"testing"
	"unicode/utf8"
)

// A CSV is refused, or has at most as many rows as an import, each with its departments or an error. A row that names nobody is refused when its member is looked up.
func FuzzCSV(f *testing.F) {
	f.Add("user,name,departments\n7,Ann,Sales/North;Board\n", uint32(2))
	f.Add("\ufeffexternal_id\n\"a\n", uint32(2))
	f.Add("user,user\n1\n", uint32(2))
	f.Add("user\n\"", uint32(1<<32-1))
	f.Fuzz(func(t *testing.T, text string, firstLine uint32) {
		rows, err := parseCSV(text, firstLine)
		if err != nil {
			return
		}
		if len(rows) > maxImportRows || !utf8.ValidString(text) {
			t.Errorf("%d rows of %q", len(rows), text)
		}
		for _, r := range rows {
			if r.err == nil && len(r.paths) > maxPlaces || len(r.paths) != len(r.leads) {
				t.Errorf("line %d of %q has %d departments, of which %d say whether they are led", r.line, text, len(r.paths), len(r.leads))
			}
		}
	})
}
