package faulttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A server is suspended for longer than the grace of silence, and continues. Connections whose input waited meanwhile survive, and all of
// that input is answered. A client that expects answers leaves the suspended server by itself, and comes back when it continues.
func TestASuspendedServerKeepsConnectionsWithInput(t *testing.T) {
	t.Parallel()
	const sockets = 20
	// A connection is first looked at when its time to authenticate is over: while the server is suspended, and not while the others are
	// still being opened, which may take seconds.
	p := newProcess(t, "--set", "gateway.heartbeat=1s", "--set", "gateway.grace=12s", "--set", "gateway.auth_within=12s")
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	alice := person(t, p, "alice")
	online := make(chan bool, 100)
	var mu sync.Mutex
	shown := map[string]int{}
	all := make(chan struct{})
	bob, err := rialto.New(rialto.Config{URL: p.url(), MaxWait: 20 * time.Millisecond, OpenWithin: time.Second, Logger: quiet(), Handler: func(e rialto.Event) {
		if e.Online != nil {
			online <- *e.Online
		}
		if text := e.Message.GetContent().GetText(); text != "" {
			mu.Lock()
			defer mu.Unlock()
			if shown[text]++; len(shown) == sockets && shown[text] == 1 {
				close(all)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.Register(t.Context(), "bob", "a good password", "bob"); err != nil {
		t.Fatal(err)
	}
	g, err := alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "all", Members: []uint64{bob.User()}}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // so that a test that would hang fails
	ended := make(chan error, 1)
	go func() { ended <- bob.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	wantOnline(ctx, t, online, true)
	var conns []io.ReadWriter
	for range sockets {
		conns = append(conns, dialJSON(ctx, t, p, alice))
	}

	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	suspended := time.NewTimer(14 * time.Second)
	for n, c := range conns {
		frame := fmt.Sprintf(`{"sends":[{"conversation":"%d","clientMsgId":"m%d","content":{"text":"message %d"}}]}`, g.Msg.Id, n, n)
		if err := wsutil.WriteClientText(c, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	wantOnline(ctx, t, online, false) // while the server is still suspended
	<-suspended.C
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	for n, c := range conns {
		for {
			b, err := wsutil.ReadServerText(c)
			if err != nil || strings.Contains(string(b), `"bye"`) {
				t.Fatalf("connection %d was closed after %s (%v)", n, b, err)
			}
			if strings.Contains(string(b), `"receipts"`) {
				if !strings.Contains(string(b), fmt.Sprintf(`"clientMsgId":"m%d"`, n)) || strings.Contains(string(b), `"error"`) {
					t.Errorf("connection %d was answered %s", n, b)
				}
				break
			}
		}
	}
	wantOnline(ctx, t, online, true)
	select {
	case <-all:
	case <-ctx.Done():
		t.Error("the client that left did not get all messages")
	}
	mu.Lock()
	defer mu.Unlock()
	for text, times := range shown {
		if times != 1 {
			t.Errorf("%q was shown %d times", text, times)
		}
	}
}

// dialJSON opens a socket of a user's for the JSON subprotocol, and reads Hello.
func dialJSON(ctx context.Context, t *testing.T, p *process, c *rialto.Client) io.ReadWriter {
	t.Helper()
	ticket, err := c.Account().CreateTicket(ctx, connect.NewRequest(&accountv1.CreateTicketRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	d := ws.Dialer{Protocols: []string{"rialto.v1.json"}, Header: ws.HandshakeHeaderHTTP(http.Header{})}
	conn, buffered, _, err := d.Dial(ctx, fmt.Sprintf("ws://127.0.0.1:%d/v1/socket?ticket=%s", p.port, ticket.Msg.Ticket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	var in io.Reader = conn
	if buffered != nil { // what came with the handshake's answer
		in = buffered
	}
	both := struct {
		io.Reader
		io.Writer
	}{in, conn}
	if b, err := wsutil.ReadServerText(both); err != nil || !strings.Contains(string(b), `"hello"`) {
		t.Fatalf("the first frame is %s (%v)", b, err)
	}
	return both
}

func wantOnline(ctx context.Context, t *testing.T, online <-chan bool, want bool) {
	t.Helper()
	select {
	case got := <-online:
		if got != want {
			t.Fatalf("the client is online: %v, and should be: %v", got, want)
		}
	case <-ctx.Done():
		t.Fatalf("the client did not notice in time that it is online: %v", want)
	}
}
