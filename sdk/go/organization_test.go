package rialto

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplitCSVKeepsRecordsWhole(t *testing.T) {
	var rows strings.Builder
	for i := range 2001 {
		fmt.Fprintf(&rows, "%d,\"two\r\nlines \"\"quoted\"\"\"\r\n", i)
	}
	parts := splitCSV("\ufeffuser,title\r\n" + rows.String())
	if len(parts) != 2 || parts[0].firstLine != 2 || parts[1].firstLine != 4002 {
		t.Fatalf("the CSV is split into %d parts, want two that begin in lines 2 and 4002", len(parts))
	}
	var all strings.Builder
	for _, p := range parts {
		rest, ok := strings.CutPrefix(p.csv, "user,title\r\n")
		if !ok {
			t.Error("a part does not begin with the names of the columns")
		}
		all.WriteString(rest)
	}
	if all.String() != rows.String() {
		t.Error("the rows of the parts are not those of the file")
	}
	if got := splitCSV("user\n1"); len(got) != 1 || got[0].csv != "user\n1\n" || got[0].firstLine != 2 {
		t.Errorf("a file without a last line break is split into %v", got)
	}
}
