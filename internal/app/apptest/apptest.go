// Package apptest starts a whole house in a test, on a directory of its own, and gives what tests need to walk in by the public
// doors. Scenarios are written once, against a House: of one node, or where the run says so of several, which take turns.
package apptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/gen/rialto/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/gen/rialto/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// House is a running node, with the others where it has several.
type House struct {
	*app.House
	Others []*app.House
	URL    string
	HTTP   *http.Client
	// TLS of clients; nil for a plain house.
	TLS *tls.Config
}

// Open starts a house that is closed with the test: on a data directory, or where the run says so on PostgreSQL. change may be nil.
func Open(t *testing.T, change func(*config.Config)) *House {
	t.Helper()
	return OpenAt(t, clock.System{}, change)
}

// OpenAt is Open with a clock that the test moves.
func OpenAt(t *testing.T, now clock.Clock, change func(*config.Config)) *House {
	t.Helper()
	c, err := config.Load("", nil, []string{"data=" + filepath.Join(t.TempDir(), "data"), "listen=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if sqltest.OnPostgres() {
		c.Postgres = sqltest.Place(t)
	}
	if change != nil {
		change(c)
	}
	h, err := app.OpenAt(t.Context(), c, slog.New(slog.NewTextHandler(logTo(t), &slog.HandlerOptions{Level: slog.LevelWarn})), now)
	if err != nil {
		t.Fatal(err)
	}
	all := &House{House: h, URL: "http://" + h.Address().String()}
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	if c.Clustered() {
		for i := 2; i <= nodes(t); i++ {
			all.join(t, now, c, i)
		}
		all.settle(t)
	}
	all.HTTP = all.inTurns(http.DefaultClient)
	return all
}

// OpenTLS starts a house whose TLS ends in its own process.
func OpenTLS(t *testing.T) *House {
	t.Helper()
	cert, key, pool := certificate(t)
	h := Open(t, func(c *config.Config) { c.TLS.Cert, c.TLS.Key = cert, key })
	h.URL = "https://" + h.Address().String()
	h.TLS = &tls.Config{RootCAs: pool}
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: h.TLS}}
	t.Cleanup(plain.CloseIdleConnections)
	h.HTTP = h.inTurns(plain)
	return h
}

func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, pool
}

// logTo writes the house's warnings into the test's log.
func logTo(t *testing.T) io.Writer { return t.Output() }

// Person is a user with one session.
type Person struct {
	House *House
	*accountv1.Session
}

// Register makes a user.
func (h *House) Register(t *testing.T, handle string) *Person {
	t.Helper()
	c := accountv1connect.NewAccountServiceClient(h.HTTP, h.URL)
	r, err := c.Register(t.Context(), connect.NewRequest(&accountv1.RegisterRequest{Handle: handle, Password: "a good password", DisplayName: handle, Client: &accountv1.Client{Type: "test"}}))
	if err != nil {
		t.Fatal(err)
	}
	return &Person{h, r.Msg}
}

// Login opens another session of a user.
func (h *House) Login(t *testing.T, handle string) *Person {
	t.Helper()
	c := accountv1connect.NewAccountServiceClient(h.HTTP, h.URL)
	r, err := c.Login(t.Context(), connect.NewRequest(&accountv1.LoginRequest{Handle: handle, Password: "a good password", Client: &accountv1.Client{Type: "test"}}))
	if err != nil {
		t.Fatal(err)
	}
	return &Person{h, r.Msg}
}

// As makes a request of a person.
func As[T any](p *Person, m *T) *connect.Request[T] {
	r := connect.NewRequest(m)
	r.Header().Set("Authorization", "Bearer "+p.AccessToken)
	return r
}

// Chat makes calls; requests are made with As.
func (h *House) Chat() chatv1connect.ChatServiceClient {
	return chatv1connect.NewChatServiceClient(h.HTTP, h.URL)
}

// Accounts makes calls; requests are made with As.
func (h *House) Accounts() accountv1connect.AccountServiceClient {
	return accountv1connect.NewAccountServiceClient(h.HTTP, h.URL)
}

// Graph makes calls; requests are made with As.
func (h *House) Graph() accountv1connect.GraphServiceClient {
	return accountv1connect.NewGraphServiceClient(h.HTTP, h.URL)
}

// Direct opens the conversation of two people.
func (h *House) Direct(t *testing.T, a, b *Person) uint64 {
	t.Helper()
	r, err := h.Chat().OpenDirect(t.Context(), As(a, &chatv1.OpenDirectRequest{User: b.User}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.Id
}

// Group makes a group; the first is its owner.
func (h *House) Group(t *testing.T, people ...*Person) uint64 {
	t.Helper()
	r := &chatv1.CreateGroupRequest{Title: "a group"}
	for _, p := range people[1:] {
		r.Members = append(r.Members, p.User)
	}
	g, err := h.Chat().CreateGroup(t.Context(), As(people[0], r))
	if err != nil {
		t.Fatal(err)
	}
	return g.Msg.Id
}

// Send sends a text by a call.
func (h *House) Send(t *testing.T, p *Person, conversation uint64, id, text string) *chatv1.SendResponse {
	t.Helper()
	r, err := h.Chat().Send(t.Context(), As(p, &chatv1.SendRequest{Conversation: conversation, ClientMsgId: id, Content: Text(text)}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// Text is the content of a text.
func Text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
