package pebblelog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A manifest with any changes of tables is intact, even if a power cut left the last one incomplete. A flipped bit anywhere is corruption.
func TestManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := pebble.Open(dir, &pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range byte(8) {
		if err := db.Set([]byte{n}, nil, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	desc, err := pebble.Peek(dir, vfs.Default)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(desc.ManifestFilename)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "MANIFEST")
	check := func(b []byte) error {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return checkManifest(vfs.Default, path)
	}
	last := 0 // where the last chunk begins
	for at := 0; at < len(whole); {
		last = at
		end, intact := manifestChunk(whole, at)
		if !intact {
			t.Fatalf("no intact chunk at byte %d of %d", at, len(whole))
		}
		at = end
	}
	zeros := make([]byte, 100)
	for name, b := range map[string][]byte{"whole": whole, "cut in the last change": whole[:len(whole)-3], "cut in a header": whole[:last+2], "a change of zeros": slices.Concat(whole, zeros),
		"a change that ends in zeros": slices.Concat(whole[:len(whole)-20], zeros[:20])} {
		if err := check(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range whole {
		if at >= last && at < last+6 && at >= last+4 {
			continue // a length beyond the end of the file means an incomplete change
		}
		b := slices.Clone(whole)
		b[at] ^= 4
		if check(b) == nil {
			t.Errorf("a flipped bit at byte %d of %d was not noticed", at, len(whole))
		}
	}
	if check(nil) == nil || checkManifest(vfs.Default, path+"none") == nil {
		t.Error("an empty or missing manifest was not noticed")
	}
}
