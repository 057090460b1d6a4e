package balance_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/csv"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition, and fails after nodetest.Patience.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(nodetest.Patience); !condition(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timeout waiting until %s", what)
		}
	}
}

// port listens on a free loopback port, and returns the listener's file for another process.
func port(t *testing.T) (*os.File, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f, err := l.(*net.TCPListener).File()
	must(t, err)
	must(t, l.Close())
	t.Cleanup(func() { f.Close() })
	return f, l.Addr().String()
}

// certificate writes a self-signed certificate for 127.0.0.1 and its key, and returns the path.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "site.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	must(t, os.WriteFile(file, text, 0o600))
	return file
}

// proxy is a running HAProxy.
type proxy struct {
	t                   *testing.T
	url, plain, metrics string
	certificate         string
	log                 string // path
}

// startProxy starts HAProxy with the configuration of deploy/haproxy, except for addresses, the certificate and the number of sockets.
func startProxy(t *testing.T, nodes []*nodetest.Node) *proxy {
	t.Helper()
	p := &proxy{t: t, certificate: certificate(t)}
	plain, plainAt := port(t)
	public, publicAt := port(t)
	operators, operatorsAt := port(t)
	p.url, p.plain, p.metrics = "https://"+publicAt, "http://"+plainAt, "http://"+operatorsAt
	b, err := os.ReadFile("../haproxy/haproxy.cfg")
	must(t, err)
	text := string(b)
	pairs := []string{"bind :80\n", "bind fd@3\n", "bind :443 ", "bind fd@4 ", "bind 127.0.0.1:8404\n", "bind fd@5\n", "maxconn 250000", "maxconn 2000",
		"ipv4@127.0.0.1:8405", filepath.Join(t.TempDir(), "socket"), "/etc/haproxy/certs/", p.certificate, "check port 7071", "check"}
	for i, n := range nodes {
		node, err := url.Parse(n.URL)
		must(t, err)
		admin, err := url.Parse(n.Admin)
		must(t, err)
		pairs = append(pairs, fmt.Sprintf("rialto-%d 10.0.0.%[1]d:7070", i+1), fmt.Sprintf("rialto-%d %s port %s", i+1, node.Host, admin.Port()))
	}
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("the configuration has %q %d times", pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command("haproxy", "-db", "-f", file)
	cmd.ExtraFiles = []*os.File{plain, public, operators}
	p.log = filepath.Join(t.TempDir(), "log")
	log, err := os.Create(p.log)
	must(t, err)
	t.Cleanup(func() { log.Close() })
	cmd.Stdout, cmd.Stderr = io.MultiWriter(log, t.Output()), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its exit code does not matter
		_ = cmd.Wait()
	})
	return p
}

// state returns the state of each node according to HAProxy, by name.
func (p *proxy) state() map[string]string {
	r, err := http.Get(p.metrics + "/;csv")
	if err != nil {
		return nil // it does not listen yet
	}
	defer r.Body.Close()
	rows, err := csv.NewReader(r.Body).ReadAll()
	must(p.t, err)
	found := map[string]string{}
	for _, row := range rows {
		if row[0] == "nodes" && strings.HasPrefix(row[1], "rialto-") {
			found[row[1]] = row[17]
		}
	}
	return found
}

func (p *proxy) wait(node, state string) {
	p.t.Helper()
	until(p.t, node+" is "+state, func() bool { return p.state()[node] == state })
}

// client returns a client that trusts the proxy's certificate.
func (p *proxy) client() *http.Client {
	text, err := os.ReadFile(p.certificate)
	must(p.t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := &http.Transport{ForceAttemptHTTP2: true}
	transport.TLSClientConfig = tlsFor(pool)
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get makes a request, and returns status, protocol and body.
func get(c *http.Client, url string) (int, string, string, error) {
	r, err := c.Get(url)
	if err != nil {
		return 0, "", "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, r.Proto, string(body), err
}
