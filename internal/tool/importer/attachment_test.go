package importer_test

import (
	"archive/zip"
	"errors"
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
	if err := importer.Convert(t.Context(), importer.Slack, "slack", export, dir, now, 0); err == nil {
		t.Error("a file that cannot be written is skipped")
	}
	if _, err := interchangefile.Open(dir); err == nil {
		t.Error("a conversion that failed is complete")
	}
}

// TestFilesAreStoredOnce: messages that have one file share its copy, and one that is damaged is read once. All files together have a limit, which ends the conversion.
func TestFilesAreStoredOnce(t *testing.T) {
	files := slackFiles("F1", "F2", "F1", "F1", "F2", "F3", "F3")
	files["__uploads/F1/a.txt"], files["__uploads/F2/b.txt"], files["__uploads/F3/c.txt"] = "1234567", "89", ""
	export := zipOf(t, files)
	for limit, fits := range map[int64]bool{0: true, 9: true, 8: false, 6: false} {
		dir := t.TempDir()
		err := importer.Convert(t.Context(), importer.Slack, "slack", export, dir, now, limit)
		if !fits {
			if !errors.Is(err, interchangefile.ErrFilesTooLarge) || !strings.Contains(err.Error(), fmt.Sprint("more than ", limit)) {
				t.Errorf("9 bytes with a limit of %d: %v", limit, err)
			}
			continue
		}
		must(t, err)
		c := read(t, dir)
		var paths []string
		for i := range c.entries {
			for _, f := range c.entries[i].Files {
				paths = append(paths, f.Path)
			}
		}
		equal(t, "paths", paths, []string{"files/00/00000000", "files/01/00000001", "files/00/00000000", "files/00/00000000", "files/01/00000001"})
		matches(t, "skipped files", c.reasons("file"), "it is empty", "it is empty")
		if n := c.Manifest.Counts; n.Files != 3 || n.Attachments != 5 {
			t.Errorf("%d files are stored for %d attachments", n.Files, n.Attachments)
		}
	}
}

// TestManySmallBombs: files that are compressed far, each too small to be a bomb, are one together.
func TestManySmallBombs(t *testing.T) {
	ids := []string{"F1", "F2", "F3", "F4"}
	files := slackFiles(ids...)
	for _, id := range ids {
		files["__uploads/"+id+"/zeros"] = strings.Repeat("\x00", 15<<20)
	}
	c := convert(t, "slack", zipOf(t, files))
	matches(t, "skipped files", c.reasons("file"), "it is compressed so far", "it is compressed so far", "it is compressed so far")
	if n := c.Manifest.Counts.Files; n != 1 {
		t.Errorf("%d files are stored", n)
	}
}

// TestManySmallBombsOfMessages: so are files of messages, which are not stored as files.
func TestManySmallBombsOfMessages(t *testing.T) {
	files := slackFiles()
	for _, day := range []string{"01", "02", "03", "04"} {
		files["general/2021-01-"+day+".json"] = "[" + strings.Repeat(" ", 7<<20) + "]"
	}
	c := convert(t, "slack", zipOf(t, files))
	matches(t, "skipped files", c.reasons("message"), "it is compressed so far", "it is compressed so far")
}

// TestEntriesWithOtherSpellings: an entry whose path leads out of the archive, or is spelled as none should be, is left out under each name.
func TestEntriesWithOtherSpellings(t *testing.T) {
	for _, name := range []string{"./users.json", "/users.json", "../users.json"} {
		files := slackFiles()
		files[name] = files["users.json"]
		delete(files, "users.json")
		c := convert(t, "slack", zipOf(t, files))
		matches(t, name, c.reasons("file"), "its path leads out of the archive")
		if u := c.users["U1"]; u.Name == "ann" || u.Handle == "ann" {
			t.Errorf("%s was read: %+v", name, u)
		}
	}
}
