package balance_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

func tlsFor(pool *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: pool} }

// person is a user of rialto chat, which uses the Go SDK.
type person struct {
	t     *testing.T
	name  string
	keys  io.Writer
	mu    sync.Mutex // guards text
	text  strings.Builder
	ended chan struct{}
}

func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// register starts rialto chat and registers a user through the proxy.
func register(t *testing.T, proxy *proxy, name string) *person {
	t.Helper()
	p := &person{t: t, name: name, ended: make(chan struct{})}
	cmd := exec.Command(nodetest.Static(t), "chat", "--url", proxy.url, "--register", "--handle", name, "--state", filepath.Join(t.TempDir(), "state"))
	cmd.Env = []string{"SSL_CERT_FILE=" + proxy.certificate, "HOME=" + t.TempDir()}
	cmd.Stdout, cmd.Stderr = p, p
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	keys, err := cmd.StdinPipe()
	must(t, err)
	p.keys = keys
	must(t, cmd.Start())
	go func() { // ends with the process
		defer close(p.ended)
		_ = cmd.Wait() // its output shows the result
	}()
	t.Cleanup(func() {
		_ = keys.Close() // ends the program
		<-p.ended
		if t.Failed() {
			t.Logf("%s's screen:\n%s", name, p.screen())
		}
	})
	return p
}

func (p *person) types(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, line+"\n"); err != nil {
		p.t.Fatalf("%s cannot type: %v\n%s", p.name, err, p.screen())
	}
}

func (p *person) sees(text string) {
	p.t.Helper()
	until(p.t, p.name+" sees "+text, func() bool { return strings.Contains(p.screen(), text) })
}
