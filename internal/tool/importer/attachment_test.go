package importer_test

import (
	"archive/zip"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// slackFiles is an export of Slack with a message for each of some files.
func slackFiles(ids ...string) map[string]string {
	var messages []string
	for i, id := range ids {
		messages = append(messages, fmt.Sprintf(`{"type":"message","user":"U1","text":"","ts":"16000000%02d.000100","files":[{"id":%q,"name":%q,"mimetype":"text/plain"}]}`, i+1, id, id))
	}
	return map[string]string{
		"users.json":              `[{"id":"U1","name":"ann"}]`,
		"channels.json":           `[{"id":"C1","name":"general","creator":"U1","created":1600000000,"members":["U1"]}]`,
		"general/2020-09-13.json": "[" + strings.Join(messages, ",") + "]",
	}
}

// TestDamagedAttachmentsAreSkipped: a file that cannot be read is skipped with the reason, and the conversion goes on. Of a folder the first file is taken, whatever
// is before it. What cannot be written ends the conversion.
func TestDamagedAttachmentsAreSkipped(t *testing.T) {
	export := filepath.Join(t.TempDir(), "export.zip")
	f, err := os.Create(export)
	must(t, err)
	z := zip.NewWriter(f)
	files := slackFiles("F1", "F2", "F3", "F4", "F5", "F6", "F7")
	files["__uploads/F5"] = "a file where a folder would be"
	files["__uploads/F6/a/inner.txt"] = "of a folder"
	files["__uploads/F6/b.txt"] = "of a file"
	files["__uploads/F7/only/inner.txt"] = "of a folder"
	for name, text := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	raw := func(name, text string, method uint16, size uint64, sum uint32) {
		w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: method, CRC32: sum, CompressedSize64: uint64(len(text)), UncompressedSize64: size})
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	raw("__uploads/F1/a.txt", "text", zip.Store, 4, 1)
	raw("__uploads/F2/a.txt", "text", 99, 4, crc32.ChecksumIEEE([]byte("text")))
	raw("__uploads/F3/a.txt", "\xff\xff\xff\xff", zip.Deflate, 4, 1)
	raw("__uploads/F4/a.txt", "text", zip.Store, 40, crc32.ChecksumIEEE([]byte("text")))
	must(t, z.Close())
	must(t, f.Close())
	c := convert(t, "slack", export)
	matches(t, "skipped files", c.reasons("file"), "zip: checksum error", "unsupported compression", "flate: corrupt input", "unexpected EOF", "F5", "its bytes are not in the export, only its address: F7")
	equal(t, "messages", c.lines("C1"), []string{"text U1> [F1]", "text U1> [F2]", "text U1> [F3]", "text U1> [F4]", "text U1> [F5]", "file U1> F6|", "text U1> [F7]"})
	if n := c.Manifest.Counts.Files; n != 1 {
		t.Errorf("%d files are stored", n)
	}

	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "files"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "files", "00"), nil, 0o600)) // in the way of the first file
	if err := importer.Convert(t.Context(), importer.Slack, "slack", export, dir, now); err == nil {
		t.Error("a file that cannot be written is skipped")
	}
	if _, err := interchangefile.Open(dir); err == nil {
		t.Error("a conversion that failed is complete")
	}
}
