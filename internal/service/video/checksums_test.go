package video

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestStoredChecksums: the example of checksums in docs/formats/video.md is what is written, and what is read. Those of another attempt are not read.
func TestStoredChecksums(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/video.md")
	if err != nil {
		t.Fatal(err)
	}
	one, other := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("other"))
	b := encodeChecksums(300, [][]byte{one[:], other[:]})
	if !strings.Contains(string(page), "\n    "+hex.EncodeToString(b)+"\n") {
		t.Errorf("they are %x", b)
	}
	if got := checksumsOf(b, 300); len(got) != 2 || !bytes.Equal(got[0], one[:]) || !bytes.Equal(got[1], other[:]) {
		t.Errorf("they are read as %x", got)
	}
	for _, empty := range [][]byte{nil, {}, b[:1]} {
		if got := checksumsOf(empty, 300); got != nil {
			t.Errorf("%x is read as %x", empty, got)
		}
	}
	if got := checksumsOf(b, 299); got != nil {
		t.Errorf("those of another attempt are read as %x", got)
	}
}

// A position within a file is what an earlier build wrote, and the attempt and how many pieces of its file were read.
func TestPositionsOfVideoFiles(t *testing.T) {
	for _, text := range []string{"7", "7 3 1 720p", "7 3 1 720p 300 2 0aff"} {
		p, err := parseFilePosition(text)
		if got := p.String(); err != nil || got != text {
			t.Errorf("%q is read as %q (%v)", text, got, err)
		}
	}
	if p, err := parseFilePosition("7 3 1 720p 300 2 0aff"); err != nil || p.attempt != 300 || p.pieces.Count != 2 || !bytes.Equal(p.pieces.Sum, []byte{10, 255}) || p.track != "720p" {
		t.Errorf("a position is read as %+v (%v)", p, err)
	}
}
