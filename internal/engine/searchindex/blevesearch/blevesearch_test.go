package blevesearch_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
)

func open(t testing.TB, dir string) *blevesearch.Index {
	t.Helper()
	index, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestSuite(t *testing.T) {
	searchindextest.Run(t, func(t *testing.T, dir string) searchindex.Index { return open(t, dir) })
}

// A damaged index is not opened, whether its files are truncated, changed in the middle, or gone.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(path string, content []byte) error{
		"truncated": func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)/2], 0o600) },
		"changed": func(path string, content []byte) error {
			content[len(content)/3] ^= 0x40
			return os.WriteFile(path, content, 0o600)
		},
		"gone": func(path string, _ []byte) error { return os.Remove(path) },
	} {
		dir := t.TempDir()
		index := open(t, dir)
		if err := index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.User, Number: 1}, Text: "some words", Access: []string{"x"}}}}); err != nil {
			t.Fatal(err)
		}
		if err := index.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the index has no files: %v", err)
		}
		for _, file := range files { // those that a merge has replaced are among them
			content, err := os.ReadFile(file)
			if err == nil {
				err = damage(file, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if damaged, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, searchindex.ErrCorrupt) {
			t.Errorf("%s: the index was opened: %v", name, err)
			if err == nil {
				_ = damaged.Close()
			}
		}
	}
}
