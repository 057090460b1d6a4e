package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
)

// TestKeysOfImportsAndExportsAreNotSentAsPlainText: an address with http:// is for this machine, and another is refused before anything is converted.
func TestKeysOfImportsAndExportsAreNotSentAsPlainText(t *testing.T) {
	to := []string{"--url", "http://chat.example.com", "--key", "key"}
	var out, errOut strings.Builder
	if code := app.ImportMain(t.Context(), append([]string{"slack", "none.zip", "--work", t.TempDir()}, to...), &out, &errOut); code != 2 || !strings.Contains(errOut.String(), "--url: the address begins with https://") {
		t.Errorf("import: %d, %s", code, &errOut)
	}
	errOut.Reset()
	if code := app.ExportMain(t.Context(), append([]string{"--out", t.TempDir()}, to...), &out, &errOut); code != 2 || !strings.Contains(errOut.String(), "--url: the address begins with https://") {
		t.Errorf("export: %d, %s", code, &errOut)
	}
}

// TestMaxBytes: a conversion whose files have more bytes ends, and the message says which flag allows more.
func TestMaxBytes(t *testing.T) {
	export := t.TempDir()
	for name, text := range map[string]string{
		"users.json":              `[{"id":"U1","name":"ann"}]`,
		"channels.json":           `[{"id":"C1","name":"general","creator":"U1","created":1600000000,"members":["U1"]}]`,
		"general/2020-09-13.json": `[{"type":"message","user":"U1","text":"","ts":"1600000001.000100","files":[{"id":"F1","name":"a.txt"}]}]`,
		"__uploads/F1/a.txt":      "12345",
	} {
		name = filepath.Join(export, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[string]int{"4": 1, "5": 0, "0": 0, "-1": 2} {
		var out, errOut strings.Builder
		code := app.ImportMain(t.Context(), []string{"slack", export, "--work", t.TempDir(), "--max-bytes", limit}, &out, &errOut)
		if code != want || code != 0 && !strings.Contains(errOut.String(), "--max-bytes") {
			t.Errorf("--max-bytes %s: %d, %s", limit, code, &errOut)
		}
	}
}
