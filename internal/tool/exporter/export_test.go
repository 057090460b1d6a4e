package exporter

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A complete export keeps nothing of its state, whatever its directory is called, and everything else.
func TestACompleteExportHasNoState(t *testing.T) {
	for _, name := range []string{"plain", "[a-z]", "[", `back\slash`, "*"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{stateFile, stateFile + ".new-1", stateFile + ".new-22", idsFile, "manifest.json", "users.jsonl"} {
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := removeState(dir); err != nil {
			t.Errorf("in %q: %v", name, err)
		}
		var kept []string
		list, err := os.ReadDir(dir)
		for _, e := range list {
			kept = append(kept, e.Name())
		}
		if want := []string{"manifest.json", "users.jsonl"}; err != nil || !slices.Equal(kept, want) {
			t.Errorf("%q has %q, %v, want %q", name, kept, err, want)
		}
	}
}
