package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A manifest whose hash is right is refused, or read as it would be written again, and names nothing outside of a data directory.
func FuzzManifest(f *testing.F) {
	part := []Part{{strings.Repeat("ab", sha256.Size), 1, 1}}
	for _, files := range [][]File{{{Path: "records.db", Size: 1, Parts: part}}, {{Path: "records.db", Size: 1, Parts: part}, {Path: "blobs/../../evil", Size: 1, Parts: part}}, nil} {
		b, err := (&Manifest{Format: format, ID: "a", Files: files}).encode()
		if err != nil {
			f.Fatal(err)
		}
		body, _, _ := strings.Cut(string(b), sumPrefix)
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := decodeManifest(body); err == nil {
			return // it has a hash of its own
		}
		if len(body) == 0 || body[len(body)-1] != '\n' {
			body = append(body, '\n')
		}
		sum := sha256.Sum256(body)
		m, err := decodeManifest(append(body, sumPrefix+hex.EncodeToString(sum[:])+"\n"...))
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Path) {
				t.Errorf("a manifest with %q was read", file.Path)
			}
		}
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeManifest(b); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s was read as %+v, and again as %+v, %v", body, m, again, err)
		}
	})
}
