package certpool_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/certpool"
)

// TestRead: no path means the system's certificates, a file without a certificate is an error that names it, and a certificate is read.
func TestRead(t *testing.T) {
	if pool, err := certpool.Read(""); pool != nil || err != nil {
		t.Errorf("without a path: %v, %v", pool, err)
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if _, err := certpool.Read(path); !os.IsNotExist(err) {
		t.Errorf("reading a missing file returned %v, want that it does not exist", err)
	}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("no certificate"))
	if _, err := certpool.Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file without a certificate: %v", err)
	}
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	pool, err := certpool.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Certificate().Verify(x509.VerifyOptions{Roots: pool}); err != nil {
		t.Errorf("the certificate that was read is not trusted: %v", err)
	}
}
