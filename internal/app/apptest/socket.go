package apptest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Socket is an open WebSocket of a third-party client library. If it follows the user's stream, the frames that it returns have each event
// once and in order: where the server leaves events out, the socket syncs, and a frame has the events of that sync. It also repeats sends
// that are refused for a time, whose receipts it leaves out, and what says that sends are held. Read, Try, Until and CloseCode are for one goroutine at a time.
type Socket struct {
	t    *testing.T
	json bool
	Conn *websocket.Conn
	// Hints is the number of hints that a socket with a stream received.
	Hints int

	stream *stream // nil: frames are returned as the server sends them
	sends  sends
}

// Dial opens a socket in a subprotocol, rialto.v1.proto or rialto.v1.json, with a header.
func (h *Server) Dial(ctx context.Context, protocol string, header http.Header) (*websocket.Conn, *http.Response, error) {
	o := &websocket.DialOptions{HTTPClient: h.HTTP, HTTPHeader: header, CompressionMode: websocket.CompressionContextTakeover}
	if protocol != "" {
		o.Subprotocols = []string{protocol}
	}
	c, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.URL, "http")+"/v1/socket", o)
	if err == nil {
		c.SetReadLimit(32 << 20)
	}
	return c, res, err
}

// Socket opens a socket of a person that follows the person's stream and sends heartbeats, and reads Hello.
func (p *Person) Socket(t *testing.T, protocol string) (*Socket, *gatewayv1.Hello) {
	t.Helper()
	c, _, err := p.Server.Dial(t.Context(), protocol, http.Header{"Authorization": {"Bearer " + p.AccessToken}})
	if err != nil {
		t.Fatal(err)
	}
	s := Wrap(t, c, protocol != "rialto.v1.proto")
	t.Cleanup(func() { c.CloseNow() })
	f := s.Read()
	if f.Hello == nil || len(f.Events) > 0 {
		t.Fatalf("first frame: got %v, want Hello", f)
	}
	s.stream = newStream(p, f.Hello.Tail)
	go s.keepAlive() // ends with the connection or the test
	return s, f.Hello
}

// JSON reports whether the socket uses JSON.
func (s *Socket) JSON() bool { return s.json }

// Write sends a frame.
func (s *Socket) Write(f *gatewayv1.ClientFrame) {
	s.t.Helper()
	if err := s.write(f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Socket) write(f *gatewayv1.ClientFrame) error {
	s.sends.keep(f.Sends)
	kind, b := websocket.MessageBinary, []byte(nil)
	var err error
	if s.json {
		kind = websocket.MessageText
		b, err = protojson.Marshal(f)
	} else {
		b, err = proto.Marshal(f)
	}
	if err != nil {
		return err
	}
	return s.Conn.Write(s.t.Context(), kind, b)
}

// Read returns the next frame.
func (s *Socket) Read() *gatewayv1.ServerFrame {
	s.t.Helper()
	f, err := s.Try()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// Try returns the next frame, or the error.
func (s *Socket) Try() (*gatewayv1.ServerFrame, error) {
	for {
		f, err := s.receive()
		if err != nil || s.stream == nil {
			return f, err
		}
		if more, err := s.follow(f); err != nil || more {
			return f, err
		}
	}
}

func (s *Socket) receive() (*gatewayv1.ServerFrame, error) {
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

// Until reads frames until wanted returns true.
func (s *Socket) Until(wanted func(*gatewayv1.ServerFrame) bool) {
	s.t.Helper()
	for !wanted(s.Read()) {
	}
}

// CloseCode reads to the end of the connection, and returns its close code and the last Bye.
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

// Wrap returns a Socket for a connection that was opened otherwise. It returns the frames as the server sends them.
func Wrap(t *testing.T, c *websocket.Conn, json bool) *Socket {
	return &Socket{t: t, json: json, Conn: c}
}
