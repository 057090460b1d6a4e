package openapi_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/rialto-im/rialto/gen/openapi"
)

var update = flag.Bool("update", false, "write openapi.json.gz")

// TestCompressed: the compressed document has the content of openapi.json. With -update it is made, unless it has: other releases of Go make other
// bytes of it.
func TestCompressed(t *testing.T) {
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(openapi.Compressed))
	var content []byte
	if err == nil {
		content, err = io.ReadAll(z)
	}
	if err == nil && bytes.Equal(content, document) {
		return
	}
	if !*update {
		t.Fatalf("openapi.json.gz is not openapi.json (%v): run make generate", err)
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	if _, err := w.Write(document); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("openapi.json.gz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
