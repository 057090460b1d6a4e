package backup

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGoldenManifest reads and writes the example of docs/formats/backup.md.
func TestGoldenManifest(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```\n")
	example, _, _ = strings.Cut(example, "```")
	want := &Manifest{Format: 1, ID: "20261127T221500.123Z-1a2b3c", Source: "00112233445566778899aabbccddeeff", CutMs: 1795817700123, Epoch: 7, Version: "v0.1.0 abcdef", HasFiles: true,
		Files: []File{{Path: "records.db", Size: 3, Parts: []Part{{"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3, 3}}}}}
	b, err := want.encode()
	if err != nil || string(b) != example {
		t.Errorf("the example is written as\n%s%v", b, err)
	}
	if m, err := decodeManifest([]byte(example)); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("the example is read as %+v, %v", m, err)
	}
}

// A manifest of a later format, or one that names other files than those of a data directory, is refused.
func TestManifestsThatAreRefused(t *testing.T) {
	object := strings.Repeat("ab", 32)
	part := []Part{{object, 1, 1}}
	database := File{Path: "records.db", Size: 1, Parts: part}
	for _, c := range []struct {
		m    Manifest
		want string
	}{
		{Manifest{Format: 2, Version: "v9"}, "use the version of rialto that made it (v9)"},
		{Manifest{Format: 1}, "lacks records.db"},
		{Manifest{Format: 1, Files: []File{database, {Path: "../evil", Size: 1, Parts: part}}}, `"../evil"`},
		{Manifest{Format: 1, Files: []File{database, {Path: "/etc/passwd", Size: 1, Parts: part}}}, `"/etc/passwd"`},
		{Manifest{Format: 1, Files: []File{database, {Path: "blobs/../../evil", Size: 1, Parts: part}}}, `"blobs/../../evil"`},
		{Manifest{Format: 1, Files: []File{database, {Path: "STORE", Size: 1, Parts: part}}}, `"STORE"`},
		{Manifest{Format: 1, Files: []File{database, database}}, "twice"},
		{Manifest{Format: 1, Files: []File{{Path: "records.db", Size: 2, Parts: part}}}, "1 bytes of 2"},
		{Manifest{Format: 1, Files: []File{{Path: "records.db", Size: 1, Parts: []Part{{"../" + object[3:], 1, 1}}}}}, "names an object"},
	} {
		b, err := c.m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v is answered with %v, want %q", c.m, err, c.want)
		}
	}
}

// Ids rise with the time, and two of one moment differ.
func TestIDs(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	one, two, later := newID(at), newID(at), newID(at.Add(time.Millisecond))
	if !strings.HasPrefix(one, "20260102T020405.000Z-") || one == two || later <= one {
		t.Errorf("ids: %s, %s and %s", one, two, later)
	}
}

// An error of a full disk says what to do.
func TestAFullDiskIsExplained(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := explain(fmt.Errorf("writing: %w", &os.PathError{Op: "write", Path: "/b/new-1", Err: cause}), "/b")
		for _, want := range []string{"is full", "--remove", "earlier ones are", "/b/new-1"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	}
	if err := explain(os.ErrPermission, "/b"); err != os.ErrPermission {
		t.Errorf("another error became %v", err)
	}
}
