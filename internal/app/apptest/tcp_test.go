package apptest_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// tcpSocket is a socket without WebSocket.
type tcpSocket struct {
	t *testing.T
	net.Conn
}

// dialRaw connects to a listener that does not speak HTTP.
func dialRaw(t *testing.T, h *apptest.Server, to net.Addr) net.Conn {
	t.Helper()
	var nc net.Conn
	var err error
	if h.TLS != nil {
		nc, err = (&tls.Dialer{Config: h.TLS}).DialContext(t.Context(), "tcp", to.String())
	} else {
		nc, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", to.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc
}

func dialTCP(t *testing.T, h *apptest.Server, token string) *tcpSocket {
	t.Helper()
	s := &tcpSocket{t, dialRaw(t, h, h.TCPAddress())}
	s.write(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: token}})
	return s
}

func (s *tcpSocket) write(f *gatewayv1.ClientFrame) {
	s.t.Helper()
	b, err := proto.Marshal(f)
	if err == nil {
		_, err = s.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *tcpSocket) next() *gatewayv1.ServerFrame {
	s.t.Helper()
	f, err := s.try()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *tcpSocket) try() (*gatewayv1.ServerFrame, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(s, head); err != nil {
		return nil, err
	}
	b, f := make([]byte, binary.BigEndian.Uint32(head)), &gatewayv1.ServerFrame{}
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, err
	}
	return f, proto.Unmarshal(b, f)
}

// tcpFrames is a tcpSocket with the methods of a Socket.
type tcpFrames struct{ *tcpSocket }

func (s tcpFrames) Write(f *gatewayv1.ClientFrame)       { s.write(f) }
func (s tcpFrames) Try() (*gatewayv1.ServerFrame, error) { return s.try() }

// Clients over TCP, and over TLS if the node ends it, chat with those of WebSocket, and those of STOMP with both. A refused client gets the reason,
// and then the end.
func TestSocketsOverTCP(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
		c := h.Direct(t, alice, bob)
		a := &tcpSocket{t, dialRaw(t, h, h.TCPAddress())}
		a.write(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: alice.AccessToken}, Request: 1, Sync: &chatv1.SyncRequest{}})
		if f := a.next(); f.Hello.GetUser() != alice.User || f.Hello.GetDevice() != alice.Device {
			t.Fatalf("the first frame is %v", f)
		}
		if f := a.next(); f.Request != 1 || f.Sync == nil {
			t.Fatalf("the sync in the first frame is answered %v", f)
		}
		b, _ := bob.Socket(t, "rialto.v1.proto")
		a.write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: 1, Content: apptest.Text("one")}, {Conversation: c, ClientSeq: 2, Content: apptest.Text("two")}}})
		texts := func(f *gatewayv1.ServerFrame) (list []string) {
			for _, e := range f.Events {
				if text := e.GetMessage().GetContent().GetText(); text != "" {
					list = append(list, text)
				}
			}
			return list
		}
		var got, own []string
		receipts := 0
		b.Until(func(f *gatewayv1.ServerFrame) bool { got = append(got, texts(f)...); return len(got) == 2 })
		for receipts < 2 || len(own) < 2 {
			f := a.next()
			receipts, own = receipts+len(f.Receipts), append(own, texts(f)...)
		}
		if got[0] != "one" || got[1] != "two" || own[0] != "one" || own[1] != "two" || receipts != 2 {
			t.Errorf("%d receipts; bob got %q, alice %q", receipts, got, own)
		}
		s := dialRaw(t, h, h.StompAddress())
		if _, err := fmt.Fprintf(s, "CONNECT\naccept-version:1.2\npasscode:%s\n\n\x00SEND\ndestination:/conversation/%d\nreceipt:r\n\nthree\x00", bob.AccessToken, c); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(s)
		for _, want := range []string{"CONNECTED\n", "RECEIPT\nreceipt-id:r\n"} {
			if got, err := in.ReadString(0); err != nil || !strings.HasPrefix(strings.TrimLeft(got, "\n"), want) {
				t.Fatalf("a client of STOMP got %q, %v; want %q", got, err, want)
			}
		}
		for len(own) < 3 {
			own = append(own, texts(a.next())...)
		}
		if own[2] != "three" {
			t.Errorf("what came by STOMP is %q", own[2])
		}
		bad := dialTCP(t, h, "no token")
		if f := bad.next(); f.Bye.GetCode() != 4101 || f.Bye.Reason == "" {
			t.Errorf("a bad token is answered %v", f)
		}
		if n, err := bad.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after the reason come %d bytes, %v", n, err)
		}
	})
}
