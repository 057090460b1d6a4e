package natsbus_test

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

const secret = "a secret of the cluster"

// member of a cluster under test, with the messages received on its own subject.
type member struct {
	*natsbus.Bus
	name     string
	received chan string
	missed   chan struct{}
}

func join(t *testing.T, name string, config natsbus.Config) *member {
	t.Helper()
	config.Secret, config.Tally = cmp.Or(config.Secret, secret), 20*time.Millisecond
	m := &member{Bus: start(t, name, config), name: name, received: make(chan string, 10_000), missed: make(chan struct{}, 10_000)}
	m.listen(t)
	return m
}

func (m *member) listen(t *testing.T) {
	t.Helper()
	_, err := m.Subscribe(bus.Node(m.name, 0), func(data []byte) { m.received <- string(data) }, func() { m.missed <- struct{}{} })
	must(t, err)
	_, err = m.Respond(m.name, func(data []byte) []byte { return append([]byte(m.name+" says "), data...) })
	must(t, err)
}

// reaches waits until m knows that other is subscribed.
func (m *member) reaches(t *testing.T, other *member) {
	t.Helper()
	eventually.True(t, m.name+" reaches "+other.name, func() bool {
		answer, err := m.Request(t.Context(), other.name, []byte("hello"))
		return err == nil && string(answer) == other.name+" says hello"
	})
}

// send sends messages, which must all arrive in order.
func (m *member) send(t *testing.T, other *member, what string) {
	t.Helper()
	for i := range 100 {
		must(t, m.Publish(bus.Node(other.name, 0), fmt.Appendf(nil, "%s %d", what, i)))
	}
	for i := range 100 {
		if got, want := <-other.received, fmt.Sprintf("%s %d", what, i); got != want {
			t.Fatalf("%s: got %q, want %q", other.name, got, want)
		}
	}
}

func TestThreeNodes(t *testing.T) {
	loopback := natsbus.Config{Listen: "127.0.0.1:0"}
	a := join(t, "a", loopback)
	b := join(t, "b", natsbus.Config{Listen: "127.0.0.1:0", Peers: []string{a.Addr()}})
	c := join(t, "c", natsbus.Config{Listen: "127.0.0.1:0", Peers: []string{a.Addr()}}) // it learns of b from a
	all := []*member{a, b, c}
	everyone := func() {
		t.Helper()
		for _, from := range all {
			for _, to := range all {
				from.reaches(t, to)
				from.send(t, to, from.name+" to "+to.name)
			}
		}
		eventually.True(t, "each has two peers", func() bool { return a.Stats().Peers == 2 && b.Stats().Peers == 2 && c.Stats().Peers == 2 })
	}
	everyone()
	for _, m := range all {
		if at := m.Clients(); at != nil {
			t.Errorf("%s: got client port %v, want none", m.name, at)
		}
		if len(m.missed) > 0 {
			t.Errorf("%s: got a gap, want none", m.name)
		}
	}
	// The node by which the others have found each other ends.
	place := a.Addr()
	a.Kill()
	eventually.True(t, "the others know", func() bool { return b.Stats().Peers == 1 && c.Stats().Peers == 1 })
	b.send(t, c, "without a")
	c.send(t, b, "without a, back")
	if _, err := b.Request(t.Context(), "a", nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("a request to a node that has ended: got %v", err)
	}
	must(t, b.Publish(bus.Node("a", 0), []byte("lost")))
	if _, err := b.Request(t.Context(), "a", nil); !errors.Is(err, bus.ErrNoResponder) { // the answer says that the message before has left
		t.Errorf("another request to it: got %v", err)
	}
	must(t, a.Close())
	// It returns at its address. It can be reached, and is notified of a gap, although nothing more is published.
	a = join(t, "a", natsbus.Config{Listen: place, Peers: []string{b.Addr(), c.Addr(), place}})
	all[0] = a
	<-a.missed
	everyone()
	if len(b.missed)+len(c.missed) > 0 {
		t.Error("the nodes that stayed: got a gap, want none")
	}
}

// TestJoin: nodes that know no peers at first trust each other by a shared secret, and are notified when peers join and leave. A node
// with another secret is refused.
func TestJoin(t *testing.T) {
	shared := bytes.Repeat([]byte{7}, 32)
	config := func(shared []byte) natsbus.Config {
		secret, identity, err := natsbus.Identity(shared, []string{"127.0.0.1"})
		must(t, err)
		return natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Identity: identity}
	}
	var all []*member
	everyone := func() {
		t.Helper()
		var at []string
		for _, m := range all {
			at = append(at, m.Addr())
		}
		for i, m := range all {
			must(t, m.Join(at[:i]))
		}
		for _, from := range all {
			for _, to := range all {
				from.reaches(t, to)
			}
		}
		eventually.True(t, "each has all others as peers", func() bool {
			return !slices.ContainsFunc(all, func(m *member) bool { return m.Stats().Peers != len(all)-1 })
		})
		all[0].send(t, all[1], "to the second")
		all[1].send(t, all[0], "to the first")
	}
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, join(t, name, config(shared)))
		if len(all) > 1 {
			everyone()
		}
	}
	must(t, all[0].Close())
	all = append(all[1:], join(t, "a", config(shared))) // at a different address
	everyone()
	outsider := join(t, "outsider", config(bytes.Repeat([]byte{8}, 32)))
	must(t, outsider.Join([]string{all[0].Addr()}))
	must(t, all[0].Join([]string{outsider.Addr()}))
	all[0].send(t, all[1], "beside an outsider")
	if n := outsider.Stats().Peers; n != 0 {
		t.Errorf("a node with another secret: got %d peers, want 0", n)
	}
	if err := all[0].Join([]string{"nowhere"}); err == nil {
		t.Error("an address without a port: got no error")
	}
	must(t, all[0].Close())
	if err := all[0].Join(nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Join of a closed bus: got %v", err)
	}
	if _, _, err := natsbus.Identity(shared[1:], nil); err == nil {
		t.Error("a short secret: got no error")
	}
}

// cable forwards connections to an address until it is cut.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // guards the fields below
	cut   bool
	ended sync.WaitGroup
	conns map[net.Conn]bool
}

func lay(t *testing.T, to string) *cable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cable{listener: l, to: to, conns: map[net.Conn]bool{}}
	c.ended.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.ended.Go(func() { c.forward(conn) })
		}
	})
	t.Cleanup(func() {
		must(t, l.Close())
		c.set(true)
		c.ended.Wait()
	})
	return c
}

func (c *cable) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	cut := c.cut
	c.conns[near], c.conns[far] = true, true
	c.mu.Unlock()
	if cut {
		return
	}
	c.ended.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for conn := range c.conns {
			_ = conn.Close()
		}
		clear(c.conns)
	}
}

// A route breaks while the last message is on its way to a live node: the node is notified of the gap, although nothing more is
// published.
func TestARouteBreaks(t *testing.T) {
	a := join(t, "a", natsbus.Config{Listen: "127.0.0.1:0"})
	wire := lay(t, a.Addr())
	b := join(t, "b", natsbus.Config{Listen: "127.0.0.1:0", Peers: []string{wire.listener.Addr().String()}})
	a.reaches(t, b)
	a.send(t, b, "before")
	if len(b.missed) > 0 {
		t.Error("got a gap before a message was lost")
	}
	wire.set(true)
	eventually.True(t, "the route is gone", func() bool { return a.Stats().Peers == 0 })
	must(t, a.Publish(bus.Node("b", 0), []byte("lost")))
	if _, err := a.Request(t.Context(), "b", nil); !errors.Is(err, bus.ErrNoResponder) { // the answer says that the message before has left
		t.Errorf("a request without a route: got %v", err)
	}
	wire.set(false)
	<-b.missed
	a.reaches(t, b)
	a.send(t, b, "after")
	if len(b.missed) > 0 || b.Stats().Gaps != 1 {
		t.Errorf("got %d notifications of one gap", b.Stats().Gaps)
	}
}

// A node with another secret is refused.
func TestANodeWithAnotherSecretIsRefused(t *testing.T) {
	said := make(lines, 1000)
	a, err := open("a", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret}, said)
	must(t, err)
	defer a.Close()
	b := start(t, "b", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret + "?", Peers: []string{a.Addr()}})
	said.await(t, "authentication error")
	if a.Stats().Peers != 0 {
		t.Error("the node with another secret is a peer")
	}
	eventually.True(t, "the node with another secret has no peers", func() bool { return b.Stats().Peers == 0 }) // it counts a route until that is refused
}

// Nodes with certificates of the same authority connect; a node with another authority, or without a certificate, is refused.
func TestCertificates(t *testing.T) {
	ours, theirs := authority(t), authority(t)
	node := func(files natsbus.TLS, peers ...string) natsbus.Config {
		return natsbus.Config{Listen: "127.0.0.1:0", TLS: files, Peers: peers}
	}
	said := make(lines, 10_000)
	config := node(ours)
	config.Secret = secret
	a, err := open("a", config, said)
	must(t, err)
	defer a.Close()
	b := join(t, "b", node(ours, a.Addr()))
	eventually.True(t, "they are peers", func() bool { return a.Stats().Peers == 1 && b.Stats().Peers == 1 })
	for name, files := range map[string]natsbus.TLS{"another authority": theirs, "no tls": {}, "another's certificate": {Cert: theirs.Cert, Key: theirs.Key, CA: ours.CA}} {
		config := node(files, a.Addr())
		config.Secret = secret
		outsider, err := open("outsider", config, said)
		must(t, err)
		said.await(t, "TLS")
		if outsider.Stats().Peers != 0 {
			t.Errorf("a node with %s is a peer, want it refused", name)
		}
		must(t, outsider.Close())
		for len(said) > 0 {
			<-said
		}
	}
	if got := a.Stats().Peers; got != 1 {
		t.Errorf("got %d peers of a, want 1", got)
	}
}

// authority creates a certificate authority, and a certificate for loopback signed by it.
func authority(t *testing.T) natsbus.TLS {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	must(t, err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return natsbus.TLS{Cert: write("cert.pem", "CERTIFICATE", der), Key: write("key.pem", "PRIVATE KEY", private), CA: write("ca.pem", "CERTIFICATE", caDER)}
}
