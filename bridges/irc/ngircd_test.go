package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergochat/irc-go/ircevent"
	"github.com/ergochat/irc-go/ircmsg"
	"github.com/rialto-im/rialto/bridges/bridge"
	"github.com/rialto-im/rialto/bridges/bridgetest"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

const (
	active  = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE
	refused = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_REFUSED
)

// TestMain is the bridge itself in a process that a test started, so that the test can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("BRIDGE") != "" {
		bridge.Main("irc", run)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ngircd is a server of IRC with TLS.
type ngircd struct {
	t                    *testing.T
	program, address, ca string
	config               string
	process              *exec.Cmd
}

func startNgircd(t *testing.T) *ngircd {
	t.Helper()
	program, err := exec.LookPath("ngircd")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/ngircd"); err != nil {
			t.Fatal("ngircd is missing: apt-get install ngircd")
		}
	}
	dir := t.TempDir()
	n := &ngircd{t: t, program: program, address: bridgetest.FreeAddress(t), ca: filepath.Join(dir, "certificate.pem"), config: filepath.Join(dir, "ngircd.conf")}
	key := filepath.Join(dir, "key.pem")
	writeCertificate(t, n.ca, key)
	_, port, _ := net.SplitHostPort(n.address)
	config := fmt.Sprintf(`[Global]
Name = irc.example.net
Info = test
Listen = 127.0.0.1
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 30
MaxPenaltyTime = 0
[Options]
Ident = no
PAM = no
DNS = no
[SSL]
Ports = %s
CertFile = %s
KeyFile = %s
DHFile = %s
`, port, n.ca, key, writePrime(t, dir))
	if err := os.WriteFile(n.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	return n
}

// writeCertificate writes a certificate for this machine that signs itself.
func writeCertificate(t *testing.T, file, keyFile string) {
	t.Helper()
	key := bridgetest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	raw := bridgetest.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	rawKey := bridgetest.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{file: {Type: "CERTIFICATE", Bytes: raw}, keyFile: {Type: "PRIVATE KEY", Bytes: rawKey}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writePrime writes parameters of Diffie-Hellman, which ngircd would compute for many seconds otherwise. TLS 1.3 does not use them.
func writePrime(t *testing.T, dir string) string {
	t.Helper()
	raw := bridgetest.Must(asn1.Marshal(struct {
		Prime *big.Int
		Base  int
	}{bridgetest.Must(rand.Prime(rand.Reader, 1024))(t), 2}))(t)
	file := filepath.Join(dir, "dh.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "DH PARAMETERS", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (n *ngircd) start() {
	n.t.Helper()
	n.process = bridgetest.Start(n.t, nil, n.program, "-n", "-f", n.config)
	bridgetest.Eventually(n.t, "ngircd listens", func() bool { return bridgetest.Listens(n.address) })
}

// person is somebody in IRC, with what the person has seen.
type person struct {
	t    *testing.T
	conn *ircevent.Connection

	mu    sync.Mutex // guards the fields below
	seen  []string   // lines of others in channels, such as "#rialto <Alice> hello"
	pongs []string
	names []string // of the last list of names
	asked int
}

// connect connects somebody, who enters channels, and is the operator of those that were empty.
func (n *ngircd) connect(nick string, channels ...string) *person {
	n.t.Helper()
	pem := bridgetest.Must(os.ReadFile(n.ca))(n.t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	p := &person{t: n.t, conn: &ircevent.Connection{Server: n.address, Nick: nick, User: nick, UseTLS: true, TLSConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}}
	p.conn.AddCallback("PRIVMSG", func(m ircmsg.Message) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = append(p.seen, m.Params[0]+" "+m.Params[1])
	})
	p.conn.AddCallback("PONG", func(m ircmsg.Message) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pongs = append(p.pongs, m.Params[len(m.Params)-1])
	})
	p.conn.AddCallback("353", func(m ircmsg.Message) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.names = append(p.names, strings.Fields(m.Params[len(m.Params)-1])...)
	})
	if err := p.conn.Connect(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(p.conn.Quit)
	for _, channel := range channels {
		p.send("JOIN", channel)
	}
	return p
}

// send sends a line, and returns when the server has processed it.
func (p *person) send(command string, params ...string) {
	p.t.Helper()
	p.mu.Lock()
	p.asked++
	token := fmt.Sprint("asked", p.asked)
	p.names = nil
	p.mu.Unlock()
	for _, err := range []error{p.conn.Send(command, params...), p.conn.Send("PING", token)} {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	bridgetest.Eventually(p.t, "the server has processed "+command, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.Contains(p.pongs, token)
	})
}

func (p *person) say(channel, text string) {
	p.t.Helper()
	p.send("PRIVMSG", channel, text)
}

// lines are those that the person has seen.
func (p *person) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// awaitIn waits until somebody is in a channel, or is not.
func (p *person) awaitIn(channel, nick string, want bool) {
	p.t.Helper()
	bridgetest.Eventually(p.t, fmt.Sprintf("that %s is in %s is %v", nick, channel, want), func() bool {
		p.send("NAMES", channel)
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.names, func(n string) bool { return strings.TrimLeft(n, "@+") == nick }) == want
	})
}
