package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
	"github.com/rialto-im/rialto/bridges/bridgetest"
)

// side is a client, with what it has received.
type side struct {
	*client
	stop func()

	mu      sync.Mutex // guards the fields below
	got     []bridge.Received
	failing bool // nothing can be stored
}

func startSide(t *testing.T, c config, state string) *side {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	k, err := openCheckpoints(state, logger)
	if err != nil {
		t.Fatal(err)
	}
	c.domain, c.secret, c.nick = bridgeDomain, testSecret, "Rialto"
	s := &side{client: newClient(c, k, logger)}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { s.Run(ctx, s) })
	s.stop = func() { cancel(); work.Wait() }
	t.Cleanup(s.stop)
	bridgetest.Eventually(t, "the bridge is connected", func() bool {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		return s.stream != nil
	})
	return s
}

func (s *side) Changed() {}

func (s *side) Expelled(string, *bridge.Refusal) {}

func (s *side) Received(m bridge.Received) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return errors.New("nothing can be stored")
	}
	s.got = append(s.got, m)
	return nil
}

func (s *side) texts() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.got {
		list = append(list, m.Text)
	}
	return list
}

func (s *side) fail(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

// enterRoom starts a server with a room, and enters it for a new link.
func enterRoom(t *testing.T) (*side, *prosody, *person, bridge.Link) {
	t.Helper()
	server := startProsody(t)
	eve := connectPeople(t, server.address, "eve")["eve"]
	eve.enter(lobby, "Eve")
	s := startSide(t, config{server: server.address}, t.TempDir())
	link := bridge.Link{Created: time.Now(), Pending: true}
	if err := s.Enter(t.Context(), lobby, link); err != nil {
		t.Fatal(err)
	}
	return s, server, eve, link
}

// nicks are those of the occupants in a room, as Eve sees them.
func nicks(eve *person, room string) (list []string) {
	eve.mu.Lock()
	defer eve.mu.Unlock()
	for _, e := range eve.received {
		bare, nick := splitJID(e.attr("from"))
		if e.XMLName.Local != "presence" || bare != room {
			continue
		}
		list = slices.DeleteFunc(list, func(n string) bool { return n == nick })
		if e.attr("type") == "" {
			list = append(list, nick)
		}
	}
	return list
}

// Names of users become nicks whatever they have, and one that is taken gets a number.
func TestNicks(t *testing.T) {
	s, _, eve, _ := enterRoom(t)
	for n, name := range []string{"字", "Zoë 🦊", "eve", "Eve", "a\u202eb", "ﬁ\u00ad", "x/y", "🫠", " ", "\u0000"} {
		id, err := s.Deliver(t.Context(), lobby, bridge.Outgoing{Conversation: 1, Seq: uint64(n) + 1, Time: time.Now(), User: uint64(n) + 1, Name: name, Text: name})
		if err != nil || id == "" {
			t.Errorf("who is called %q is refused: %v", name, err)
		}
	}
	want := []string{"Eve", "Rialto", "字", "Zoë", "eve", "Eve (2)", "ab", "fi", "x/y", "somebody", "somebody (2)", "somebody (3)"}
	bridgetest.Eventually(t, fmt.Sprintf("the room has %q", want), func() bool { return slices.Equal(nicks(eve, lobby), want) })
}

// A room has at most fifty users of Rialto at the same time; those of an earlier process leave.
func TestOccupantsLeave(t *testing.T) {
	s, server, eve, link := enterRoom(t)
	deliver := func(s *side, user uint64) {
		t.Helper()
		if _, err := s.Deliver(t.Context(), lobby, bridge.Outgoing{Conversation: 1, Seq: user, Time: time.Now(), User: user, Name: fmt.Sprint("user ", user), Text: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	for user := range uint64(maxOccupants + 2) {
		deliver(s, user+1)
	}
	bridgetest.Eventually(t, "the first two have left", func() bool {
		got := nicks(eve, lobby)
		return len(got) == maxOccupants+2 && !slices.Contains(got, "user 1") && !slices.Contains(got, "user 2")
	})
	s.stop()
	s = startSide(t, config{server: server.address}, t.TempDir())
	if err := s.Enter(t.Context(), lobby, link); err != nil {
		t.Fatal(err)
	}
	eve.say(lobby, "hello", "hello")
	bridgetest.Eventually(t, "those of the process before have left", func() bool { return len(nicks(eve, lobby)) == 2 })
	deliver(s, 100)
	if got := nicks(eve, lobby); !slices.Equal(got, []string{"Eve", "Rialto", "user 100"}) {
		t.Errorf("the room has %q", got)
	}
}

// What cannot be stored is read again, in order, and nothing is passed over. More messages than a page of the archive has come, too.
func TestReadAgain(t *testing.T) {
	s, _, eve, link := enterRoom(t)
	var want []string
	say := func(n int) {
		for range n {
			text := fmt.Sprint("message ", len(want))
			want = append(want, text)
			eve.say(lobby, text, text)
		}
	}
	say(2)
	bridgetest.Eventually(t, "two came", func() bool { return slices.Equal(s.texts(), want) })
	s.fail(true)
	say(2*pageSize + 5)
	bridgetest.Eventually(t, "the bridge is not in the room any more", func() bool { return !s.isEntered(lobby) })
	if err := s.Enter(t.Context(), lobby, link); err == nil {
		t.Error("a room was entered whose messages cannot be stored")
	}
	s.fail(false)
	if err := s.Enter(t.Context(), lobby, link); err != nil {
		t.Fatal(err)
	}
	say(1)
	bridgetest.Eventually(t, "all came, in order", func() bool { return slices.Equal(s.texts(), want) })
}

// Nobody can make an id that counts as one of the bridge, and has a message passed over.
func TestForgedIDs(t *testing.T) {
	s, _, eve, _ := enterRoom(t)
	own := s.idOf(1, 2)
	if !s.isOwn(own) || own != s.idOf(1, 2) || own == s.idOf(1, 3) {
		t.Errorf("%s is no id of the bridge", own)
	}
	other := newClient(config{secret: "another"}, nil, nil)
	for _, id := range []string{other.idOf(1, 2), "1-2", "1-2-", "-" + s.tag(""), strings.Replace(own, "1-2-", "1-3-", 1)} {
		if id != "-"+s.tag("") && s.isOwn(id) {
			t.Errorf("%q counts as an id of the bridge", id)
		}
	}
	eve.say(lobby, other.idOf(1, 2), "forged")
	bridgetest.Eventually(t, "it came", func() bool { return slices.Equal(s.texts(), []string{"forged"}) })
}

// With TLS, the server may be elsewhere; its certificate is checked.
func TestTLS(t *testing.T) {
	server := startProsody(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { forward(from, server.address) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	_, err = openStream(t.Context(), config{server: l.Addr().String(), tls: true, domain: bridgeDomain, secret: testSecret})
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("a certificate of nobody is %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(must(x509.ParseCertificate(der)))
	s, err := openStream(t.Context(), config{server: l.Addr().String(), tls: true, roots: roots, domain: bridgeDomain, secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.close()
	if _, err := openStream(t.Context(), config{server: server.address, domain: bridgeDomain, secret: "wrong"}); err == nil || !strings.Contains(err.Error(), "not-authorized") {
		t.Errorf("a wrong secret is %v", err)
	}
}

func forward(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
}

// The server takes some letters for others, such as ſ for s. A room is entered by the address that its server has for it only, so that two addresses are not one room.
func TestOtherSpellingsOfARoom(t *testing.T) {
	s, _, _, link := enterRoom(t)
	var refusal *bridge.Refusal
	if err := s.Enter(t.Context(), strings.Replace(lobby, "s", "ſ", 1), link); !errors.As(err, &refusal) || refusal.Reason != "bad_address" || !strings.HasSuffix(refusal.Text, lobby) {
		t.Errorf("entering another spelling of the room: %v", err)
	}
}
