package web_test

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/web"
)

func TestThePageWithoutAnAppSaysHowToBuildIt(t *testing.T) {
	if page := web.NotBuilt(); !bytes.Contains(page, []byte("make build")) || !bytes.Contains(page, []byte("<html")) {
		t.Fatalf("the page is %q", page)
	}
}
