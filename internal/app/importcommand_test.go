package app_test

import (
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
