package apptest_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/push/v1/pushv1connect"
)

// pushService is the push service of a browser. It keeps the paths of what it got.
type pushService struct {
	*httptest.Server
	mu  sync.Mutex // guards got
	got []string
}

func newPushService(t *testing.T) *pushService {
	s := &pushService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, r.URL.Path)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *pushService) paths() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(s.got)), " ")
}

// The whole way: a browser registers and sleeps, a message comes, and its push service gets a notification; but nothing of what its user has read, or is there
// to see.
func TestPushToASleepingDevice(t *testing.T) {
	at := newPushService(t)
	var database []string
	h := apptest.Open(t, func(c *config.Config) {
		c.Push.InternalHosts = []string{strings.TrimPrefix(at.URL, "http://")}
		c.Presence.Grace = time.Second
		if database = []string{"--data", c.Data}; c.Postgres != "" {
			database = []string{"--postgres", c.Postgres}
		}
	})
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	pushes := pushv1connect.NewPushServiceClient(h.HTTP, h.URL)
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	register := func(p *apptest.Person, path string) *pushv1.PushSubscription {
		r, err := pushes.RegisterPush(t.Context(), apptest.As(p, &pushv1.RegisterPushRequest{Provider: pushv1.PushProvider_PUSH_PROVIDER_WEB_PUSH, Token: at.URL + path, P256Dh: key.PublicKey().Bytes(), Auth: make([]byte, 16)}))
		must(t, err)
		return r.Msg
	}
	register(bob, "/bob")
	gets := func(want string) {
		t.Helper()
		eventually.True(t, "the push service gets "+want, func() bool { return at.paths() == want })
	}
	h.Send(t, ann, c, "1", "hello")
	gets("/bob")

	socket, _ := bob.Socket(t, "rialto.v1.json") // bob is there: the next is shown, and the one after it is not
	h.Send(t, ann, c, "2", "shown")
	seq := uint64(0)
	socket.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if m := e.GetMessage(); m.GetContent().GetText() == "shown" {
				seq = m.Seq
			}
		}
		return seq != 0
	})
	_, err = h.Chat().Mark(t.Context(), apptest.As(bob, &chatv1.MarkRequest{Conversation: c, ReadSeq: seq}))
	must(t, err)
	socket.Conn.CloseNow()
	h.Send(t, bob, c, "3", "my own")
	second := h.Login(t, "bobo")
	register(second, "/phone")
	h.Send(t, ann, c, "4", "good night")
	gets("/bob /bob /phone")

	admin := pushv1connect.NewPushAdminServiceClient(h.HTTP, h.URL)
	var apiKey, errs strings.Builder
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "trace"}, database...), &apiKey, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	operator := &apptest.Person{Session: &accountv1.Session{AccessToken: strings.TrimSpace(apiKey.String())}}
	trace, err := admin.ListPushAttempts(t.Context(), apptest.As(operator, &pushv1.ListPushAttemptsRequest{User: bob.User}))
	must(t, err)
	accepted := 0
	for _, a := range trace.Msg.Attempts {
		switch {
		case a.Result == pushv1.PushResult_PUSH_RESULT_SENT && a.Status == http.StatusCreated && a.Conversation == c:
			accepted++
		case a.Result != pushv1.PushResult_PUSH_RESULT_DROPPED || a.Seq != seq:
			t.Errorf("an attempt is %v", a)
		}
	}
	if accepted != 3 {
		t.Errorf("%d attempts were accepted", accepted)
	}
	if _, err := admin.ListPushAttempts(t.Context(), apptest.As(bob, &pushv1.ListPushAttemptsRequest{User: ann.User})); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a user reads the trace of another: %v", err)
	}
}
