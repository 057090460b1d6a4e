// Package bridgetest tests bridges with a Rialto of their own: a process of the built server, a group of Alice, and a proxy between the bridge and the server that can withhold answers.
package bridgetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// Rialto is a server with a group that is linked, or will be.
type Rialto struct {
	Key          string // of the bridge
	URL          string // of the proxy
	Alice        uint64
	Conversation uint64
	Chat         chatv1connect.ChatServiceClient         // as Alice
	Links        bridgev1connect.BridgeLinkServiceClient // as Alice
	Admin        accountv1connect.AdminServiceClient

	t                             *testing.T
	bridge, binary, address, data string
	serverKey                     string
	process                       *exec.Cmd

	mu              sync.Mutex // guards the fields below
	withhold, block string
}

// Open starts a server, and makes a group and the key of a bridge.
func Open(t *testing.T, bridge string) *Rialto {
	t.Helper()
	r := &Rialto{t: t, bridge: bridge, binary: os.Getenv("TEST_BINARY"), address: FreeAddress(t), data: filepath.Join(t.TempDir(), "data")}
	if r.binary == "" {
		t.Fatal("TEST_BINARY names no rialto: build it with scripts/build.sh bin/rialto ./cmd/rialto")
	}
	r.serverKey = r.key("--name", "test")
	r.start()
	t.Cleanup(func() { Kill(r.process) })
	base := "http://" + r.address
	r.Admin = accountv1connect.NewAdminServiceClient(http.DefaultClient, base, r.As(0))
	r.Alice = r.User("alice", "Alice")
	r.Key = r.key("--name", bridge, "--bot", fmt.Sprint(r.User(bridge+"_bot", bridge)), "--bridge", bridge)
	r.Chat = chatv1connect.NewChatServiceClient(http.DefaultClient, base, r.As(r.Alice))
	r.Links = bridgev1connect.NewBridgeLinkServiceClient(http.DefaultClient, base, r.As(r.Alice))
	r.Conversation = Must(r.Chat.CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "g"})))(t).Msg.Id
	r.openProxy()
	return r
}

// key makes an API key. The server does not run, or knows it within moments.
func (r *Rialto) key(args ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), r.binary, append([]string{"admin", "key", "create", "--data", r.data}, args...)...).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (r *Rialto) start() {
	r.t.Helper()
	r.process = Start(r.t, nil, r.binary, "serve", "--data", r.data, "--listen", r.address)
	Eventually(r.t, "Rialto listens", func() bool { return Listens(r.address) })
}

// Stop kills the server.
func (r *Rialto) Stop() { Kill(r.process) }

// Restart kills the server, if it runs, and starts it again.
func (r *Rialto) Restart() {
	r.t.Helper()
	r.Stop()
	r.start()
}

// As makes calls with the server's key, as a user if there is one.
func (r *Rialto) As(user uint64) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, q connect.AnyRequest) (connect.AnyResponse, error) {
			q.Header().Set("Authorization", "Bearer "+r.serverKey)
			if user != 0 {
				q.Header().Set("Rialto-User", fmt.Sprint(user))
			}
			return next(ctx, q)
		}
	}))
}

// User makes a user.
func (r *Rialto) User(handle, name string) uint64 {
	r.t.Helper()
	u, err := r.Admin.PutUser(r.t.Context(), connect.NewRequest(&accountv1.PutUserRequest{ExternalId: handle, Handle: handle, DisplayName: name}))
	return Must(u, err)(r.t).Msg.Id
}

// openProxy puts a proxy before Rialto. A call whose answer is withheld takes effect, and one that is blocked does not.
func (r *Rialto) openProxy() {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.address})
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // Rialto is being restarted
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		withheld := r.withhold != "" && strings.HasSuffix(q.URL.Path, "/"+r.withhold)
		blocked := r.block != "" && strings.HasSuffix(q.URL.Path, "/"+r.block)
		r.mu.Unlock()
		if blocked {
			panic(http.ErrAbortHandler)
		}
		if !withheld {
			proxy.ServeHTTP(out, q)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), q)
		panic(http.ErrAbortHandler)
	}))
	r.t.Cleanup(server.Close)
	r.URL = server.URL
}

// Withhold has the answers of a call not reach the bridge; empty: of none.
func (r *Rialto) Withhold(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withhold = call
}

// Block has a call of the bridge not reach Rialto; empty: all reach it.
func (r *Rialto) Block(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.block = call
}

// Link links the group with a room, and waits for what the other system says.
func (r *Rialto) Link(room string, want bridgev1.BridgeLinkState) *bridgev1.BridgeLink {
	r.t.Helper()
	Eventually(r.t, "the group is linked", func() bool {
		_, err := r.Links.LinkBridge(r.t.Context(), connect.NewRequest(&bridgev1.LinkBridgeRequest{Conversation: r.Conversation, Bridge: r.bridge, Address: room}))
		return err == nil
	})
	return r.AwaitLink(want)
}

// AwaitLink waits for a state of the link.
func (r *Rialto) AwaitLink(want bridgev1.BridgeLinkState) (l *bridgev1.BridgeLink) {
	r.t.Helper()
	Eventually(r.t, fmt.Sprint("the link is ", want), func() bool {
		l = r.Shown()
		return l.State == want
	})
	return l
}

// Unlink ends the link.
func (r *Rialto) Unlink() {
	r.t.Helper()
	Must(r.Links.UnlinkBridge(r.t.Context(), connect.NewRequest(&bridgev1.UnlinkBridgeRequest{Conversation: r.Conversation, Bridge: r.bridge})))(r.t)
}

// Shown is the link as Alice sees it.
func (r *Rialto) Shown() *bridgev1.BridgeLink {
	r.t.Helper()
	return Must(r.Links.ListBridgeLinks(r.t.Context(), connect.NewRequest(&bridgev1.ListBridgeLinksRequest{Conversation: r.Conversation})))(r.t).Msg.Links[0]
}

// Say writes as Alice. It returns the message's seq.
func (r *Rialto) Say(text string) uint64 {
	r.t.Helper()
	return r.Send(&chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

// Send sends a content as Alice.
func (r *Rialto) Send(c *chatv1.Content) uint64 {
	r.t.Helper()
	return Must(r.Chat.Send(r.t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: r.Conversation, ClientMsgId: rand.Text(), Content: c})))(r.t).Msg.Seq
}

// Messages are those of the group, oldest first, at most 200.
func (r *Rialto) Messages() (list []*chatv1.Message) {
	r.t.Helper()
	for _, m := range Must(r.Chat.History(r.t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: r.Conversation, Limit: 200})))(r.t).Msg.Messages {
		if m.Content.GetText() != "" {
			list = append(list, m)
		}
	}
	return list
}

// Texts are those of the messages, each with the bridge over which it came.
func (r *Rialto) Texts() (list []string) {
	r.t.Helper()
	for _, m := range r.Messages() {
		list = append(list, m.Content.Bridge+": "+m.Content.GetText())
	}
	return list
}

// Delivery waits for what became of a message in the other system.
func (r *Rialto) Delivery(seq uint64) (d *chatv1.BridgeDelivery) {
	r.t.Helper()
	Eventually(r.t, fmt.Sprint("message ", seq, " has a report"), func() bool {
		for _, m := range Must(r.Chat.GetMessages(r.t.Context(), connect.NewRequest(&chatv1.GetMessagesRequest{Conversation: r.Conversation, Seqs: []uint64{seq}})))(r.t).Msg.Messages {
			if len(m.BridgeDeliveries) > 0 {
				d = m.BridgeDeliveries[0]
			}
		}
		return d != nil
	})
	return d
}

// Must fails the test with an error of a call.
func Must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// FreeAddress is one that nobody listens on.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l := Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// Listens reports whether somebody listens on an address.
func Listens(address string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
	return err == nil && c.Close() == nil
}

// Eventually waits until something is true, for a minute.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute, this is not so: %s", what)
		}
	}
}

// Start starts a process that ends with the test.
func Start(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), t.Output(), t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Kill(c) })
	return c
}

// Kill ends a process at once, and waits until it has ended.
func Kill(c *exec.Cmd) {
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()
}
