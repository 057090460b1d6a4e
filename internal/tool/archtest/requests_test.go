package archtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/archtest"
)

// HTTP requests are found in all folders except those that may make them.
func TestHTTPRequestsAreFound(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"low", "high"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "// Package " + name + " asks.\npackage " + name + "\n\nimport \"net/http\"\n\nfunc ask() {\n\t_, _ = http.Get(\"x\")\n\t_, _ = http.DefaultClient.Head(\"x\")\n\t_ = &http.Client{}\n\t_ = http.NotFound\n}\n"
		if err := os.WriteFile(filepath.Join(root, name, name+".go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := archtest.Check(root, archtest.Rules{Module: "example.org/asks", Layers: [][]string{{"low"}, {"high"}}, Requests: []string{"high"}, Lines: 100, TestLines: 100, FunctionLines: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"low/low.go:7: http.Get", "low/low.go:8: http.DefaultClient", "low/low.go:9: http.Client"} {
		if len(found) != 3 || !strings.HasPrefix(found[i], want) {
			t.Fatalf("%q; want %s", found, want)
		}
	}
}
