// Package certpool reads the certificates of authorities that an operator trusts.
package certpool

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Read returns the certificates (PEM) in a file. Without a path it returns nil: the system's certificates. A file without a certificate is an error.
func Read(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return pool, nil
}
