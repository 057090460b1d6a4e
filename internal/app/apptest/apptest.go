// Package apptest starts a complete server in a test, with its own data directory and clients of its public API. Scenarios use a Server,
// which has one node, or several if the run is configured for it; requests then alternate between the nodes.
package apptest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Server is a running node, with the other nodes of its cluster if there are any.
type Server struct {
	*app.Node
	Others []*app.Node
	URL    string
	HTTP   *http.Client
	// TLS of clients; nil without TLS.
	TLS *tls.Config
}

// Open starts a server that is closed with the test, on a data directory, or on PostgreSQL if the run is configured for it. change may be
// nil.
func Open(t *testing.T, change func(*config.Config)) *Server {
	t.Helper()
	return OpenAt(t, clock.System{}, change)
}

// OpenAt is Open with a clock that the test controls.
func OpenAt(t *testing.T, now clock.Clock, change func(*config.Config)) *Server {
	t.Helper()
	c, err := config.Load("", nil, []string{"data=" + filepath.Join(t.TempDir(), "data"), "listen=127.0.0.1:0", "video.niceness=1"})
	if err != nil {
		t.Fatal(err)
	}
	c.TCP.Listen, c.Stomp.Listen, c.Stomp.WebSocket = "127.0.0.1:0", "127.0.0.1:0", true
	c.Account.WhoMayAdd = "everyone"                                    // people of most tests are no friends, and add each other to groups
	c.Canary.Off = true                                                 // its messages would be among those that tests count
	c.Account.PasswordCost = auth.Cost{Memory: 64, Time: 1, Threads: 1} // hashing would take most of the time
	if sqltest.OnPostgres() {
		c.Postgres = sqltest.Place(t)
	}
	if change != nil {
		change(c)
	}
	h, err := app.OpenAt(t.Context(), c, logTo(t), now)
	if err != nil {
		t.Fatal(err)
	}
	all := &Server{Node: h, URL: "http://" + h.Address().String()}
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

// OpenTLS starts a server that terminates TLS itself, after changes of its settings.
func OpenTLS(t *testing.T, changes ...func(*config.Config)) *Server {
	t.Helper()
	cert, key, pool := certificate(t)
	h := Open(t, func(c *config.Config) {
		c.TLS.Cert, c.TLS.Key = cert, key
		for _, change := range changes {
			change(c)
		}
	})
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

// logTo writes the server's warnings into the test's log, as serve does.
func logTo(t *testing.T) *slog.Logger {
	t.Helper()
	l, err := telemetry.NewLogger(telemetry.Config{Level: "warn"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Person is a user with one session.
type Person struct {
	Server *Server
	*accountv1.Session
}

// Register creates a user.
func (h *Server) Register(t *testing.T, handle string) *Person {
	t.Helper()
	c := accountv1connect.NewAccountServiceClient(h.HTTP, h.URL, retrying)
	r, err := c.Register(t.Context(), connect.NewRequest(&accountv1.RegisterRequest{Handle: handle, Password: "a good password", DisplayName: handle, Client: &accountv1.Client{Type: "test"}}))
	if err != nil {
		t.Fatal(err)
	}
	return &Person{h, r.Msg}
}

// Login opens another session of a user.
func (h *Server) Login(t *testing.T, handle string) *Person {
	t.Helper()
	c := accountv1connect.NewAccountServiceClient(h.HTTP, h.URL, retrying)
	r, err := c.Login(t.Context(), connect.NewRequest(&accountv1.LoginRequest{Handle: handle, Password: "a good password", Client: &accountv1.Client{Type: "test"}}))
	if err != nil {
		t.Fatal(err)
	}
	return &Person{h, r.Msg}
}

// As creates a request of a person.
func As[T any](p *Person, m *T) *connect.Request[T] {
	r := connect.NewRequest(m)
	r.Header().Set("Authorization", "Bearer "+p.AccessToken)
	return r
}

// retrying makes a client repeat calls that are answered `unavailable` with a time to wait, as docs/protocol.md tells clients to. A node that
// lacks CPU time answers so, for example while it waits for ids.
var retrying = connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		for tries := 1; ; tries++ {
			answer, err := call(ctx, r)
			wait := retryAfter(err)
			if wait == 0 || tries == maxTries || backoff.Sleep(ctx, wait) != nil {
				return answer, err
			}
		}
	}
}))

// maxTries of a call. Most waits are 200 ms.
const maxTries = 100

// retryAfter returns the time to wait before a call is repeated, or 0 if the error is final.
func retryAfter(err error) time.Duration {
	var e *connect.Error
	if !errors.As(err, &e) || e.Code() != connect.CodeUnavailable {
		return 0
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if g, ok := v.(*gatewayv1.Error); ok {
				return time.Duration(g.RetryMs) * time.Millisecond
			}
		}
	}
	return 0
}

// Chat returns a client; create requests with As.
func (h *Server) Chat() chatv1connect.ChatServiceClient {
	return chatv1connect.NewChatServiceClient(h.HTTP, h.URL, retrying)
}

// Rooms returns a client; create requests with As.
func (h *Server) Rooms() chatv1connect.RoomServiceClient {
	return chatv1connect.NewRoomServiceClient(h.HTTP, h.URL, retrying)
}

// Feed returns a client; create requests with As.
func (h *Server) Feed() feedv1connect.FeedServiceClient {
	return feedv1connect.NewFeedServiceClient(h.HTTP, h.URL, retrying)
}

// FeedAdmin returns a client of a program with an API key.
func (h *Server) FeedAdmin(key string) feedv1connect.FeedAdminServiceClient {
	return feedv1connect.NewFeedAdminServiceClient(h.HTTP, h.URL, retrying, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return call(ctx, r)
		}
	})))
}

// Accounts returns a client; create requests with As.
func (h *Server) Accounts() accountv1connect.AccountServiceClient {
	return accountv1connect.NewAccountServiceClient(h.HTTP, h.URL, retrying)
}

// Graph returns a client; create requests with As.
func (h *Server) Graph() accountv1connect.GraphServiceClient {
	return accountv1connect.NewGraphServiceClient(h.HTTP, h.URL, retrying)
}

// Direct opens the conversation of two users.
func (h *Server) Direct(t *testing.T, a, b *Person) uint64 {
	t.Helper()
	r, err := h.Chat().OpenDirect(t.Context(), As(a, &chatv1.OpenDirectRequest{User: b.User}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.Id
}

// Group creates a group, owned by the first person.
func (h *Server) Group(t *testing.T, people ...*Person) uint64 {
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

// Send sends a text with a call.
func (h *Server) Send(t *testing.T, p *Person, conversation uint64, id, text string) *chatv1.SendResponse {
	t.Helper()
	r, err := h.Chat().Send(t.Context(), As(p, &chatv1.SendRequest{Conversation: conversation, ClientMsgId: id, Content: Text(text)}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// Text returns the content of a text message.
func Text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
