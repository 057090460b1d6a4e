package interchangefile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// FuzzLines: a file of lines gives each line that is not empty and is UTF-8, and an error with its number for each other one; nothing is skipped.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{}"))
	f.Add([]byte("\n\n \r\n{}\r\n"))
	f.Add([]byte("\xff\n{}\n\x00"))
	f.Add(append(bytes.Repeat([]byte("x"), 70_000), "\nend"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var want, got []string
		for line := range bytes.SplitSeq(b, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				text := "bad"
				if utf8.Valid(line) {
					text = string(line)
				}
				want = append(want, text)
			}
		}
		lines := interchangefile.NewLines("x", bytes.NewReader(b))
		for {
			line, err := lines.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			var fault *interchangefile.LineError
			switch {
			case err == nil:
				got = append(got, string(line))
			case errors.As(err, &fault):
				got = append(got, "bad")
			default:
				t.Fatal(err)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || lines.Offset() != int64(len(b)) {
			t.Errorf("%q gives %q up to %d, want %q", b, got, lines.Offset(), want)
		}
	})
}

// FuzzManifest: a directory whose manifest anybody wrote is refused, or has only files of its own.
func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	w, err := interchangefile.Create(f.Context(), dir, "test", time.Unix(1_600_000_000, 0))
	if err == nil {
		_, err = w.Close()
	}
	good, rerr := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err = errors.Join(err, rerr); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("users.jsonl"), []byte("../users.jsonl")))
	f.Add([]byte(`{"version":1,"parts":[{"name":"/etc/passwd"}]}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := interchangefile.Open(dir)
		if err != nil {
			return
		}
		for _, p := range r.Manifest.Parts {
			if filepath.Base(p.Name) != p.Name || p.Name == ".." {
				t.Errorf("%q names the file %q", manifest, p.Name)
			}
		}
	})
}
