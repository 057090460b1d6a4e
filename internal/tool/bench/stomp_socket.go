package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// stompSocket is a client of STOMP 1.2 over TCP. It subscribes to the whole stream, and acknowledges what it has read. A stream of STOMP has no gaps, so
// there is nothing to sync.
type stompSocket struct {
	net     net.Conn
	in      *bufio.Reader
	after   uint64                   // where the subscription begins; 0: at the end of the stream
	last    uint64                   // position of the last message
	unacked int                      // messages since the last ACK
	syncs   []*gatewayv1.ServerFrame // answers to syncs, which only the reading goroutine asks for

	writing sync.Mutex // guards writing
}

// ackEvery is the number of messages that one ACK is for. A server sends 1,000 without one.
const ackEvery = 100

// dialStomp opens a connection, and sends the token.
func dialStomp(ctx context.Context, address string, secure bool, to destination) (*stompSocket, error) {
	nc, err := dialNet(ctx, address, secure, to.from)
	if err != nil {
		return nil, err
	}
	s := &stompSocket{net: nc, in: bufio.NewReaderSize(nc, to.buffer), after: to.after}
	if err := s.send("CONNECT\naccept-version:1.2\nhost:rialto\nheart-beat:5000,5000\npasscode:" + to.token + "\n\n\x00"); err != nil {
		_ = nc.Close() // the first error is reported
		return nil, fmt.Errorf("socket: %w", err)
	}
	return s, nil
}

// dialNet opens a connection over TCP, or TLS.
func dialNet(ctx context.Context, address string, secure bool, from net.IP) (net.Conn, error) {
	nd := &net.Dialer{}
	if from != nil {
		nd.LocalAddr = &net.TCPAddr{IP: from}
	}
	dial := nd.DialContext
	if secure {
		dial = (&tls.Dialer{NetDialer: nd}).DialContext
	}
	nc, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	return nc, nil
}

func (s *stompSocket) setDeadline(at time.Time) error { return s.net.SetDeadline(at) }

func (s *stompSocket) close() error { return s.net.Close() }

func (s *stompSocket) send(frames string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := io.WriteString(s.net, frames)
	return err
}

// write sends the messages of a frame, and a heartbeat for a ping. A sync is answered at once: the server sends all that is missing by itself.
func (s *stompSocket) write(payload []byte) error {
	var f gatewayv1.ClientFrame
	if err := proto.Unmarshal(payload, &f); err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range f.Sends {
		text := m.Content.GetText()
		fmt.Fprintf(&b, "SEND\ndestination:/conversation/%d\nclient-msg-id:%d\nreceipt:%d\ncontent-length:%d\n\n%s\x00", m.Conversation, m.ClientSeq, m.ClientSeq, len(text), text)
	}
	if f.Sync != nil {
		s.syncs = append(s.syncs, &gatewayv1.ServerFrame{Request: f.Request, Sync: &chatv1.SyncResponse{Next: f.Sync.After}})
	}
	if f.Ping != nil {
		b.WriteByte('\n')
	}
	if f.Call != nil || f.Watch != nil {
		return errors.New("STOMP has no calls, and watches nobody")
	}
	if b.Len() == 0 {
		return nil
	}
	return s.send(b.String())
}

// stompFrame is a frame of the server.
type stompFrame struct {
	command string
	headers map[string]string
	body    []byte
}

func (f *stompFrame) number(name string) uint64 {
	n, _ := strconv.ParseUint(f.headers[name], 10, 64) // a header that is not there is 0
	return n
}

func (s *stompSocket) next() ([]byte, error) {
	if len(s.syncs) > 0 {
		f := s.syncs[0]
		s.syncs = s.syncs[1:]
		return proto.Marshal(f)
	}
	f, err := s.read()
	if err != nil {
		return nil, &lostError{cause: err}
	}
	answer := &gatewayv1.ServerFrame{}
	switch f.command {
	case "": // a heartbeat
	case "CONNECTED":
		answer.Hello, err = s.connected(f)
	case "RECEIPT":
		answer.Receipts = []*gatewayv1.Receipt{{ClientSeq: f.number("receipt-id"), Seq: f.number("seq"), Id: f.headers["message-id"], Duplicate: f.headers["duplicate"] == "true"}}
	case "MESSAGE":
		var e *chatv1.Event
		e, err = s.message(f)
		answer.Events = []*chatv1.Event{e}
	default:
		err = stompError(f)
	}
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}

// connected subscribes.
func (s *stompSocket) connected(f *stompFrame) (*gatewayv1.Hello, error) {
	s.last = s.after
	if s.last == 0 {
		s.last = f.number("position")
	}
	h := &gatewayv1.Hello{User: f.number("user-name"), Device: f.number("device"), Session: f.number("session"), Tail: &chatv1.Position{Epoch: uint32(s.last >> 32), Seq: s.last}}
	return h, s.send(fmt.Sprintf("SUBSCRIBE\nid:0\ndestination:/stream\nack:client\nafter:%d\n\n\x00", s.last))
}

// message returns the event of a message. The server has filled the gaps, so its predecessor is the last one.
func (s *stompSocket) message(f *stompFrame) (*chatv1.Event, error) {
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: string(f.body)}}
	if f.headers["content-type"] != "text/plain" {
		content = &chatv1.Content{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(f.body, content); err != nil {
			return nil, fmt.Errorf("the server sent invalid JSON: %w", err)
		}
	}
	to := strings.TrimPrefix(f.headers["destination"], "/conversation/")
	conversation, err := strconv.ParseUint(to, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a message has the destination %q", f.headers["destination"])
	}
	e := &chatv1.Event{Seq: f.number("position"), Prev: s.last,
		Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: conversation, Id: f.headers["message-id"], Seq: f.number("seq"), Sender: f.number("sender"), Content: content}}}
	if e.Seq > 0 {
		s.last = e.Seq
	}
	if s.unacked++; s.unacked == ackEvery {
		s.unacked = 0
		return e, s.send("ACK\nid:" + f.headers["ack"] + "\n\n\x00")
	}
	return e, nil
}

// stompError returns the error of an ERROR frame.
func stompError(f *stompFrame) error {
	err := fmt.Errorf("the server ended the session: %s %s", f.headers["reason"], f.headers["message"])
	switch {
	case f.headers["code"] == "unauthenticated":
		return fmt.Errorf("%w: %w", errBadToken, err)
	case f.headers["code"] == "unavailable" || f.number("retry-ms") > 0:
		return &lostError{cause: err, retry: time.Duration(f.number("retry-ms")) * time.Millisecond}
	}
	return err
}

// read reads a frame. A heartbeat is a frame without a command.
func (s *stompSocket) read() (*stompFrame, error) {
	command, err := s.line()
	if err != nil || command == "" {
		return &stompFrame{}, err
	}
	f := &stompFrame{command: command, headers: map[string]string{}}
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if _, twice := f.headers[name]; !twice {
			f.headers[name] = stompEscapes.Replace(value)
		}
	}
	n, fixed := f.headers["content-length"]
	if !fixed {
		f.body, err = s.in.ReadBytes(0)
		f.body = bytes.TrimSuffix(f.body, []byte{0})
		return f, err
	}
	length, err := strconv.Atoi(n)
	if err != nil || length < 0 || length > 1<<20 {
		return nil, fmt.Errorf("a frame has the length %q", n)
	}
	f.body = make([]byte, length+1)
	_, err = io.ReadFull(s.in, f.body)
	f.body = f.body[:length]
	return f, err
}

var stompEscapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\c`, ":", `\\`, `\`)

func (s *stompSocket) line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), err
}
