package search_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/service/search"
)

// A dictionary is a regular file of a bounded size: a node that starts does not wait for a named pipe, and does not read without end.
func TestADictionaryIsARegularFile(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	f, err := os.Create(large)
	if err == nil {
		err = f.Truncate(256<<20 + 1) // it takes no space
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{large, filepath.Dir(large), os.DevNull} {
		if err := (search.Config{Dictionary: path}).Check(); err == nil || !strings.Contains(err.Error(), path+" is not a regular file of at most 256 MiB") {
			t.Errorf("%s: error %v, want one that contains %q", path, err, path+" is not a regular file of at most 256 MiB")
		}
	}
}
