package lint_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os/exec"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

// systemd accepts the units, and its exposure score of each, out of 100, is at most 15.
func TestUnitsAreValidAndExposeLittle(t *testing.T) {
	one, many := read(t, "../systemd/rialto.service"), read(t, "../systemd/rialto@.service")
	for name, text := range map[string]string{"rialto.service": one, "rialto@a.service": many} {
		path := write(t, t.TempDir(), name, replaced(t, text, "/usr/local/bin/rialto ", nodetest.Static(t)+" "))
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		quietly(t, "systemd-analyze", "security", "--offline=true", "--threshold=15", path)
	}
	settings := func(text string) string {
		_, text, _ = strings.Cut(text, "[Service]")
		return text
	}
	if got := strings.NewReplacer("rialto-%i", "rialto", "/%i.yaml", "/rialto.yaml").Replace(settings(many)); got != settings(one) {
		t.Errorf("the two units must differ only in names:\n%s", got)
	}
}

// HAProxy accepts both configurations without a warning.
func TestHAProxyAcceptsItsConfiguration(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	pair := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	pemFile := write(t, dir, "site.pem", pair)
	quietly(t, "haproxy", "-c", "-dW", "-f", write(t, dir, "haproxy.cfg", replaced(t, read(t, "../haproxy/haproxy.cfg"), "/etc/haproxy/certs/", pemFile)))
	quietly(t, "haproxy", "-c", "-dW", "-f", "../compose/haproxy.cfg")
}
