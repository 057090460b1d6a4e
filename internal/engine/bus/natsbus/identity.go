package natsbus

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"time"
)

// Identity derives from a secret that all nodes share what a node needs to authenticate to the others: a password, and mutual TLS with a
// certificate for hosts (names and addresses of this node), signed by an authority that every node derives. A node that does not know
// shared, at least 32 random bytes, can neither join nor listen.
func Identity(shared []byte, hosts []string) (secret string, config *tls.Config, err error) {
	if len(shared) < 32 {
		return "", nil, errors.New("the cluster's secret is too short: it has 32 random bytes or more")
	}
	// Clocks may be wrong, so the authority is valid as long as its secret.
	from, to := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
	key := ed25519.NewKeyFromSeed(derive(shared, "authority"))
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rialto cluster"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	// Ed25519 signatures are deterministic, so all nodes create the same certificate.
	root, err := x509.CreateCertificate(nil, authority, authority, key.Public(), key)
	if err != nil {
		return "", nil, err
	}
	if authority, err = x509.ParseCertificate(root); err != nil {
		return "", nil, err
	}
	public, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "rialto node"}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, authority, public, key)
	if err != nil {
		return "", nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	return hex.EncodeToString(derive(shared, "password")), &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, RootCAs: pool, ClientCAs: pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{signed}, PrivateKey: own}},
	}, nil
}

// derive derives 32 bytes for a purpose, which reveal nothing about the secret.
func derive(shared []byte, purpose string) []byte {
	h := hmac.New(sha256.New, shared)
	h.Write([]byte("rialto bus " + purpose))
	return h.Sum(nil)
}
