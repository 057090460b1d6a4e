package privacy

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readArchive returns the manifest of an archive, and its other entries. It checks their sizes and sums.
func readArchive(t *testing.T, b []byte) (m manifest, entries map[string]string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	entries = map[string]string{}
	for i, f := range r.File {
		in, err := f.Open()
		must(t, err)
		text, err := io.ReadAll(in)
		must(t, err)
		if f.Name == "manifest.json" {
			if must(t, json.Unmarshal(text, &m)); i != len(r.File)-1 {
				t.Error("the manifest is not the last entry")
			}
			continue
		}
		entries[f.Name] = string(text)
	}
	if len(m.Entries) != len(entries) {
		t.Errorf("the manifest has %d entries of %d", len(m.Entries), len(entries))
	}
	for _, e := range m.Entries {
		text := entries[e.Name]
		sum := sha256.Sum256([]byte(text))
		if e.Size != int64(len(text)) || e.SHA256 != hex.EncodeToString(sum[:]) || strings.HasSuffix(e.Name, ".jsonl") && e.Records != int64(strings.Count(text, "\n")) {
			t.Errorf("the manifest has %+v of %q", e, text)
		}
	}
	return m, entries
}

// The example of docs/formats/export.md is what an archive with these records has.
func TestGoldenArchive(t *testing.T) {
	store, err := diskblob.Open(t.TempDir())
	must(t, err)
	must(t, store.Put(t.Context(), "media/07/7", strings.NewReader("hello"), 5))
	var b bytes.Buffer
	a := newArchive(&b, store)
	must(t, a.Record("messages", map[string]string{"text": "hello"}))
	must(t, a.File(t.Context(), "7-a.txt", "media/07/7"))
	must(t, a.File(t.Context(), "8-gone.txt", "media/08/8")) // it was deleted just now
	size, err := a.close(manifest{Format: archiveFormat, User: "5", CreatedMs: 1735689600000})
	must(t, err)
	if size != int64(b.Len()) {
		t.Errorf("the archive has %d bytes, not %d", b.Len(), size)
	}
	m, entries := readArchive(t, b.Bytes())
	if m.Format != 1 || m.User != "5" || len(entries) != 2 || entries["messages.jsonl"] != "{\"text\":\"hello\"}\n" || entries["files/7-a.txt"] != "hello" {
		t.Errorf("the archive has %+v and %q", m, entries)
	}
	page, err := os.ReadFile("../../../docs/formats/export.md")
	must(t, err)
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	var documented manifest
	must(t, json.Unmarshal([]byte(example), &documented))
	got, _ := json.Marshal(m)
	want, _ := json.Marshal(documented)
	if !bytes.Equal(got, want) {
		t.Errorf("the manifest is %s, and that of the page %s", got, want)
	}
}

// The records of a kind are together: an entry of a zip cannot be continued.
func TestAKindDoesNotReturn(t *testing.T) {
	a := newArchive(io.Discard, nil)
	must(t, a.Record("one", 1))
	must(t, a.Record("two", 2))
	if err := a.Record("one", 3); err == nil {
		t.Error("a kind that was written before is begun again")
	}
}
