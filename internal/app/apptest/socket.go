package apptest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Socket is an open WebSocket, with a client library that is not ours.
type Socket struct {
	t    *testing.T
	json bool
	Conn *websocket.Conn
}

// Dial opens a socket in a subprotocol, rialto.v1.proto or rialto.v1.json, with a header.
func (h *House) Dial(ctx context.Context, protocol string, header http.Header) (*websocket.Conn, *http.Response, error) {
	o := &websocket.DialOptions{HTTPClient: h.HTTP, HTTPHeader: header, CompressionMode: websocket.CompressionContextTakeover}
	if protocol != "" {
		o.Subprotocols = []string{protocol}
	}
	return websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.URL, "http")+"/v1/socket", o)
}

// Socket opens a socket of a person and takes Hello.
func (p *Person) Socket(t *testing.T, protocol string) (*Socket, *gatewayv1.Hello) {
	t.Helper()
	c, _, err := p.House.Dial(t.Context(), protocol, http.Header{"Authorization": {"Bearer " + p.AccessToken}})
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(32 << 20)
	s := &Socket{t, protocol != "rialto.v1.proto", c}
	t.Cleanup(func() { c.CloseNow() })
	f := s.Read()
	if f.Hello == nil {
		t.Fatalf("the first frame is %v", f)
	}
	return s, f.Hello
}

// Write sends a frame.
func (s *Socket) Write(f *gatewayv1.ClientFrame) {
	s.t.Helper()
	kind, b := websocket.MessageBinary, []byte(nil)
	var err error
	if s.json {
		kind = websocket.MessageText
		b, err = protojson.Marshal(f)
	} else {
		b, err = proto.Marshal(f)
	}
	if err == nil {
		err = s.Conn.Write(s.t.Context(), kind, b)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Read gives the next frame.
func (s *Socket) Read() *gatewayv1.ServerFrame {
	s.t.Helper()
	f, err := s.Try()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// Try gives the next frame, or why there is none.
func (s *Socket) Try() (*gatewayv1.ServerFrame, error) {
	_, b, err := s.Conn.Read(s.t.Context())
	if err != nil {
		return nil, err
	}
	f := &gatewayv1.ServerFrame{}
	if s.json {
		return f, protojson.Unmarshal(b, f)
	}
	return f, proto.Unmarshal(b, f)
}

// Until reads frames until wanted says that all is there.
func (s *Socket) Until(wanted func(*gatewayv1.ServerFrame) bool) {
	s.t.Helper()
	for !wanted(s.Read()) {
	}
}

// CloseCode reads to the end of the connection and gives its code, and the last Bye.
func (s *Socket) CloseCode() (int, *gatewayv1.Bye) {
	s.t.Helper()
	var bye *gatewayv1.Bye
	for {
		f, err := s.Try()
		if err != nil {
			return int(websocket.CloseStatus(err)), bye
		}
		if f.Bye != nil {
			bye = f.Bye
		}
	}
}

// Wrap makes a Socket of a connection that was dialled otherwise.
func Wrap(t *testing.T, c *websocket.Conn, json bool) *Socket { return &Socket{t, json, c} }
