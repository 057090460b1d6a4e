package stomp

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// pair is a session between a client and a gateway that the test plays.
type pair struct {
	t       *testing.T
	server  *Server
	client  net.Conn
	in      *bufio.Reader // of the client
	gateway net.Conn
	skipped int // pings of the session
	small   int // frames that charge one of the client
	empty   int // frames that charge a heartbeat
	acked   message.Position
	opened  chan net.Conn
	known   message.Position // that the device has acknowledged before
}

func (p *pair) ServeTranslator(nc net.Conn, _ netip.Prefix, _ *inputlimit.Slot) { p.opened <- nc }
func (p *pair) CheckUpgrade(*http.Request) error                                { return nil }
func (p *pair) AcquireSlot(*http.Request) (*inputlimit.Slot, error)             { return nil, nil }
func (p *pair) AckedPosition(context.Context, id.Caller) (message.Position, error) {
	return p.known, nil
}

// begin starts a session, which is not connected yet.
func begin(t *testing.T) *pair {
	t.Helper()
	return beginWith(t, nil)
}

// beginWith is begin with limits.
func beginWith(t *testing.T, limits *ratelimit.Table) *pair {
	t.Helper()
	p := &pair{t: t, opened: make(chan net.Conn, 1)}
	p.server = New(Deps{Gateway: p, Inbox: p, Input: inputlimit.NewMemory(0), Limits: limits})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if p.client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	p.in = bufio.NewReader(p.client)
	p.server.ServeTCP(nc, netip.Prefix{}, nil)
	p.gateway = eventually.Receive(t, "the session's connection to the gateway", p.opened)
	for _, end := range []net.Conn{p.client, p.gateway} { // what does not come fails the test
		if err := end.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := eventually.Receive(t, "the server's end", ended); err != nil {
			t.Error(err)
		}
		p.client.Close()
		if used := p.server.deps.Input.Used(); used != 0 {
			t.Errorf("%d bytes are charged at the end", used)
		}
	})
	return p
}

// connected starts a session whose user's stream ends at a position.
func connected(t *testing.T, tail uint64) *pair {
	t.Helper()
	p := begin(t)
	p.connect(tail)
	return p
}

func (p *pair) connect(tail uint64) {
	t := p.t
	t.Helper()
	p.say("CONNECT\naccept-version:1.1,1.2\nhost:x\npasscode:TOKEN\n\n\x00")
	if f := p.asked(); f.Auth.GetAccessToken() != "TOKEN" {
		t.Fatalf("CONNECT became %v", f)
	}
	p.answer(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{User: 7, Device: 8, Session: 9, Tail: &chatv1.Position{Seq: tail}, HeartbeatMs: 5000}})
	if got := p.heard(); !strings.HasPrefix(got, "CONNECTED\nversion:1.2\nheart-beat:5000,5000\nsession:9\nserver:rialto\nuser-name:7\ndevice:8\n") {
		t.Fatalf("CONNECT is answered %q", got)
	}
}

// say sends bytes of the client.
func (p *pair) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.client, text); err != nil {
		p.t.Fatal(err)
	}
}

// heard returns the next frame that the client gets; "" at the end.
func (p *pair) heard() string {
	p.t.Helper()
	text, err := p.in.ReadString(0)
	text = strings.TrimLeft(text, "\n")
	if err == io.EOF && text == "" {
		return ""
	}
	if err != nil {
		p.t.Fatalf("%q, %v", text, err)
	}
	return strings.TrimSuffix(text, "\x00")
}

// wants checks that the next frame has a command and some parts.
func (p *pair) wants(parts ...string) {
	p.t.Helper()
	got := p.heard()
	if !strings.HasPrefix(got, parts[0]) {
		p.t.Fatalf("got %q, want %q", got, parts)
	}
	for _, part := range parts[1:] {
		if !strings.Contains(got, part) {
			p.t.Errorf("%q lacks %q", got, part)
		}
	}
}

// asked returns the next frame for the gateway that is not only a ping or an acknowledgement; those are noted.
func (p *pair) asked() *gatewayv1.ClientFrame {
	p.t.Helper()
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(p.gateway, head); err != nil {
			p.t.Fatal(err)
		}
		b, f := make([]byte, binary.BigEndian.Uint32(head)), &gatewayv1.ClientFrame{}
		_, err := io.ReadFull(p.gateway, b)
		if err == nil {
			err = proto.Unmarshal(b, f)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		switch {
		case f.Ack.GetSeq() != 0:
			p.acked = message.Position(f.Ack.Seq)
		case f.Ack != nil:
			p.small++
		case len(b) == 0:
			p.empty++
		}
		if f.Request != 0 || f.Auth != nil || len(f.Sends) > 0 {
			return f
		}
		p.skipped++
	}
}

// answer sends a frame of the gateway.
func (p *pair) answer(f *gatewayv1.ServerFrame) {
	p.t.Helper()
	b, err := proto.Marshal(f)
	if err == nil {
		_, err = p.gateway.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// event is a text in a conversation at a place of the stream.
func event(seq, prev, conversation uint64, text string) *chatv1.Event {
	return &chatv1.Event{Seq: seq, Prev: prev, Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: conversation, Seq: seq, Id: fmt.Sprint("ID-", seq), Sender: 5, TimeMs: 1000,
		Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}}}
}

func (p *pair) push(events ...*chatv1.Event) { p.answer(&gatewayv1.ServerFrame{Events: events}) }

// A receipt of SEND comes when the gateway has stored the message, and not before. A retry has the same id.
func TestSendsAreAcknowledged(t *testing.T) {
	p := connected(t, 10)
	p.say("SEND\ndestination:/conversation/55\nclient-msg-id:a\\cb\nreceipt:r1\n\nhello\x00SEND\ndestination:/conversation/55\n\nwithout\x00")
	f := p.asked()
	if s := f.Sends; len(s) != 1 || s[0].Conversation != 55 || s[0].ClientMsgId != "a:b" || s[0].Content.GetText() != "hello" {
		t.Fatalf("SEND became %v", f)
	}
	second := p.asked().Sends[0]
	if second.ClientMsgId == "" || second.Content.GetText() != "without" {
		t.Errorf("the second SEND became %v", second)
	}
	p.answer(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 55, ClientMsgId: second.ClientMsgId, Id: "X", Seq: 2}, {Conversation: 55, ClientMsgId: "a:b", Id: "Y", Seq: 3, TimeMs: 4, Duplicate: true}}})
	p.wants("RECEIPT\n", "receipt-id:r1\n", "message-id:Y\n", "seq:3\n", "duplicate:true\n")
	p.say("SEND\ndestination:/conversation/55\nreceipt:r2\ncontent-type:" + contentType + "\n\n{\"location\":{\"latitude\":1.5}}\x00")
	third := p.asked().Sends[0]
	if third.Content.GetLocation().GetLatitude() != 1.5 {
		t.Errorf("a Content in JSON became %v", third)
	}
	p.answer(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 55, ClientMsgId: third.ClientMsgId, Error: &gatewayv1.Error{Code: "permission_denied", Reason: "blocked", Message: "no: you are blocked"}}}})
	p.wants("ERROR\n", "message:no\\c you are blocked\n", "receipt-id:r2\n", "reason:blocked\n", "code:permission_denied\n")
	if got := p.heard(); got != "" {
		t.Errorf("after ERROR comes %q", got)
	}
}

// Messages come once and in order, also after a gap, and only to the subscriptions that want them. The device's position is before the first message
// that waits for its ACK.
func TestMessagesAreDeliveredAndAcknowledged(t *testing.T) {
	p := connected(t, 10)
	p.say("SUBSCRIBE\nid:all\ndestination:/stream\nack:client\nreceipt:s1\n\n\x00SUBSCRIBE\nid:one\ndestination:/conversation/55\nreceipt:s2\n\n\x00")
	p.wants("RECEIPT\n", "receipt-id:s1\n")
	check := p.asked()
	if check.Call.GetMethod() != "/rialto.chat.v1.ChatService/GetConversation" {
		t.Fatalf("the subscription to a conversation became %v", check)
	}
	p.answer(&gatewayv1.ServerFrame{Request: check.Request, Result: &gatewayv1.Result{}})
	p.wants("RECEIPT\n", "receipt-id:s2\n")
	p.push(event(11, 10, 55, "a\x01"), event(12, 11, 66, "b"))
	p.wants("MESSAGE\nsubscription:all\nmessage-id:ID-11\ndestination:/conversation/55\nack:1\nsender:5\nseq:11\ntime-ms:1000\nposition:11\ncontent-type:text/plain\ncontent-length:2\n\na\x01")
	p.wants("MESSAGE\nsubscription:one\nmessage-id:ID-11\ndestination:/conversation/55\nsender:5\n")
	p.wants("MESSAGE\nsubscription:all\nmessage-id:ID-12\n", "ack:2\n")
	p.push(event(14, 13, 66, "d")) // 13 is missing
	sync := p.asked()
	if sync.Sync.GetAfter().GetSeq() != 12 || p.acked > 10 {
		t.Fatalf("a gap is asked for with %v; acknowledged is %d", sync, p.acked)
	}
	p.push(event(15, 14, 66, "ignored: the next gap is noticed"))
	p.answer(&gatewayv1.ServerFrame{Request: sync.Request, Sync: &chatv1.SyncResponse{Events: []*chatv1.Event{event(13, 12, 66, "c"), event(14, 13, 66, "d")}, Next: &chatv1.Position{Seq: 14}, More: true}})
	p.wants("MESSAGE\nsubscription:all\nmessage-id:ID-13\n", "ack:3\n")
	p.wants("MESSAGE\nsubscription:all\nmessage-id:ID-14\n", "ack:4\n")
	sync = p.asked()
	p.answer(&gatewayv1.ServerFrame{Request: sync.Request, Sync: &chatv1.SyncResponse{Events: []*chatv1.Event{event(15, 14, 66, "e")}, Next: &chatv1.Position{Seq: 15}}})
	p.wants("MESSAGE\nsubscription:all\nmessage-id:ID-15\n", "ack:5\n")
	p.say("ACK\nid:3\nreceipt:a1\n\n\x00") // and those before it
	p.wants("RECEIPT\n", "receipt-id:a1\n")
	p.say("UNSUBSCRIBE\nid:one\nreceipt:u1\n\n\x00")
	p.wants("RECEIPT\n", "receipt-id:u1\n")
	p.say("DISCONNECT\nreceipt:bye\n\n\x00")
	if last := p.asked(); last.Ping == nil || p.acked != 13 {
		t.Errorf("the last frame is %v; acknowledged is %d, want 13", last, p.acked)
	} else {
		p.answer(&gatewayv1.ServerFrame{Request: last.Request, Pong: &gatewayv1.Pong{}})
	}
	p.wants("RECEIPT\n", "receipt-id:bye\n")
	if got := p.heard(); got != "" {
		t.Errorf("after the last receipt comes %q", got)
	}
}

// Messages of the same id in two conversations are two, whose receipts may come in either order.
func TestIDsAreOfAConversation(t *testing.T) {
	p := connected(t, 10)
	for _, c := range []int{55, 66} {
		p.say(fmt.Sprintf("SEND\ndestination:/conversation/%d\nclient-msg-id:a\nreceipt:r%d\n\nhello\x00", c, c))
		p.asked()
	}
	p.answer(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 66, ClientMsgId: "a", Id: "X", Seq: 1}, {Conversation: 55, ClientMsgId: "a", Id: "Y", Seq: 1}}})
	p.wants("RECEIPT\n", "receipt-id:r66\n", "message-id:X\n")
	p.wants("RECEIPT\n", "receipt-id:r55\n", "message-id:Y\n")
}

// A DISCONNECT is answered when all messages before it are stored.
func TestDisconnectWaitsForReceipts(t *testing.T) {
	p := connected(t, 10)
	p.say("SEND\ndestination:/conversation/55\nclient-msg-id:a\nreceipt:r1\n\nhello\x00DISCONNECT\nreceipt:bye\n\n\x00")
	p.asked()
	p.answer(&gatewayv1.ServerFrame{Request: p.asked().Request, Pong: &gatewayv1.Pong{}})
	p.answer(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 55, ClientMsgId: "a", Id: "X", Seq: 1}}})
	p.wants("RECEIPT\n", "receipt-id:r1\n")
	p.wants("RECEIPT\n", "receipt-id:bye\n")
}

// A subscription begins where the device is: after what it has acknowledged, or after a position that the client names.
func TestSubscriptionsBeginAfterAPosition(t *testing.T) {
	for _, test := range []struct {
		known message.Position
		after string
		want  uint64
	}{{0, "", 0}, {4, "", 4}, {4, "after:2\n", 2}, {4, "after:0\n", 0}, {10, "", 0}} {
		p := connected(t, 10)
		p.known = test.known
		p.say("SUBSCRIBE\nid:1\ndestination:/stream\nreceipt:s\n" + test.after + "\n\x00")
		p.wants("RECEIPT\n")
		if syncs := test.known == 4; syncs {
			sync := p.asked()
			if sync.Sync == nil || sync.Sync.After.GetSeq() != test.want {
				t.Errorf("%v: asked for %v", test, sync)
			}
			continue
		}
		p.push(event(11, 10, 55, "live"))
		p.wants("MESSAGE\n", "live")
	}
}

// Individual acknowledgements move the device's position over those that are complete. Too many messages without one wait in the server.
func TestMessagesWaitForAcknowledgements(t *testing.T) {
	p := connected(t, 10)
	p.say("SUBSCRIBE\nid:1\ndestination:/stream\nack:client-individual\nreceipt:s\n\n\x00")
	p.wants("RECEIPT\n")
	var events []*chatv1.Event
	for n := uint64(11); n <= 10+maxOutstanding+1; n++ {
		events = append(events, event(n, n-1, 55, "x"))
	}
	go p.push(events...)
	for n := 1; n <= maxOutstanding; n++ {
		p.wants("MESSAGE\n", fmt.Sprintf("ack:%d\n", n))
	}
	p.say("NACK\nid:1\n\n\x00")
	for n := 2; n < maxOutstanding/2+2; n++ {
		p.say(fmt.Sprintf("ACK\nid:%d\n\n\x00", n))
	}
	sync := p.asked() // half are acknowledged
	if sync.Sync.GetAfter().GetSeq() != 10+maxOutstanding || p.acked > 10 {
		t.Errorf("after the acknowledgements %v is asked for; the device is at %d, want 10 for the first, which is not acknowledged", sync, p.acked)
	}
	p.answer(&gatewayv1.ServerFrame{Request: sync.Request, Sync: &chatv1.SyncResponse{Events: events[maxOutstanding:], Next: &chatv1.Position{Seq: 11 + maxOutstanding}}})
	p.wants("MESSAGE\n", fmt.Sprintf("ack:%d\n", maxOutstanding+1))
	p.say("ACK\nid:1\n\n\x00DISCONNECT\n\n\x00")
	if p.asked(); p.acked != 10+maxOutstanding/2+1 {
		t.Errorf("the device is at %d, want %d", p.acked, 10+maxOutstanding/2+1)
	}
}

// What a client sends besides messages is charged by the gateway: a heartbeat as an empty frame, a command as a small one.
func TestFramesAreCharged(t *testing.T) {
	p := connected(t, 0)
	p.say("\n\r\n\nSEND\ndestination:/conversation/5\n\nx\x00")
	if f := p.asked(); len(f.Sends) != 1 || p.small != 0 {
		t.Errorf("a message became %v, and %d small frames", f, p.small)
	}
	p.say("SUBSCRIBE\nid:1\ndestination:/stream\n\n\x00UNSUBSCRIBE\nid:1\n\n\x00DISCONNECT\n\n\x00")
	if p.asked(); p.small != 3 || p.empty != 3 {
		t.Errorf("%d frames and %d heartbeats are charged, want 3 of each", p.small, p.empty)
	}
}

// A subscription costs its user a call: the device's position is read for it.
func TestSubscriptionsAreCalls(t *testing.T) {
	limits, err := ratelimit.NewTable(ratelimit.Config{CallUser: "1/h"}, clock.System{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := beginWith(t, limits)
	p.connect(0)
	p.say("SUBSCRIBE\nid:1\ndestination:/stream\nreceipt:first\n\n\x00SUBSCRIBE\nid:2\ndestination:/stream\nreceipt:second\n\n\x00")
	p.wants("RECEIPT\n", "receipt-id:first\n")
	go io.Copy(io.Discard, p.gateway) // ends with the session
	p.wants("ERROR\n", "receipt-id:second\n", "code:resource_exhausted\n", "retry-ms:")
}

// What a client may not do is answered with an ERROR that says why, and the end.
func TestMistakesOfClients(t *testing.T) {
	const connect = "CONNECT\naccept-version:1.2\npasscode:T\n\n\x00"
	for _, test := range []struct {
		text string
		want error
	}{
		{"SEND\ndestination:/conversation/5\n\n\x00", errFirst},
		{"SEND\ndestination:/conversation/5\n\n" + strings.Repeat("x", maxHead), errFirst}, // nothing is held for a client that is not known
		{connect + "SEND\ndestination:/conversation/5\n\n" + strings.Repeat("x", 4*maxHead) + "\xff\x00", errText},
		{"CONNECT\naccept-version:1.0,1.1\npasscode:T\n\n\x00", errVersion},
		{"CONNECT\npasscode:T\n\n\x00", errVersion},
		{"CONNECT\naccept-version:1.2\n\n\x00", errPasscode},
		{"CONNECT\naccept-version:1.2\npasscode:T\nheart-beat:x\n\n\x00", errBeat},
		{"nonsense\n\n\x00", errCommand},
		{connect + connect, errAgain},
		{connect + "BEGIN\ntransaction:1\n\n\x00", errTransaction},
		{connect + "SEND\ndestination:/conversation/5\ntransaction:1\n\n\x00", errTransaction},
		{connect + "SEND\ndestination:/queue/a\nreceipt:r\n\n\x00", errDestination},
		{connect + "SEND\ndestination:/conversation/0\n\n\x00", errDestination},
		{connect + "SEND\ndestination:/conversation/5\n\n\xff\x00", errText},
		{connect + "SEND\ndestination:/conversation/5\ncontent-type:" + contentType + "\n\n{\"nope\":1}\x00", errContent},
		{connect + "SEND\ndestination:/conversation/5\ncontent-type:" + contentType + "\n\n{\"text\":\"x\",\"mentions\":[" + strings.Repeat("{},", 5000) + "{}]}\x00", errElements},
		{connect + "SEND\ndestination:/conversation/5\ncontent-type:" + contentType + "\n\n" + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "\x00", errElements},
		{connect + "SUBSCRIBE\ndestination:/stream\n\n\x00", errSubscription},
		{connect + "SUBSCRIBE\nid:1\ndestination:/stream\n\n\x00SUBSCRIBE\nid:1\ndestination:/stream\n\n\x00", errSubscription},
		{connect + "SUBSCRIBE\nid:1\ndestination:/stream\n\n\x00SUBSCRIBE\nid:2\nafter:1\ndestination:/stream\n\n\x00", errAfter},
		{connect + "SUBSCRIBE\nid:1\ndestination:/stream\nack:never\n\n\x00", errMode},
		{connect + "UNSUBSCRIBE\nid:1\n\n\x00", errNoSuch},
		{connect + "ACK\nid:1\n\n\x00", errNoAck},
		{connect + "DISCONNECT\n\n\x00SEND\ndestination:/conversation/5\n\n\x00", errAfterLeave},
		{connect + strings.Repeat("SUBSCRIBE\nid:1\ndestination:/stream\n\n\x00UNSUBSCRIBE\nid:1\n\n\x00", maxFrames), errFlood},
	} {
		p := begin(t)
		go func() { // the gateway
			defer p.gateway.Close()
			hello, err := proto.Marshal(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{User: 7, Tail: &chatv1.Position{}, HeartbeatMs: 5000}})
			if err != nil {
				t.Error(err)
			}
			if _, err := p.gateway.Read(make([]byte, 1000)); err == nil && strings.HasPrefix(test.text, connect) {
				_, _ = p.gateway.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...)) // the session may be over
			}
			_, _ = io.Copy(io.Discard, p.gateway) // as above
		}()
		if _, err := io.WriteString(p.client, test.text); err != nil {
			t.Logf("%.40q: %v", test.text, err) // it may be closed before all is written
		}
		got := p.heard()
		if strings.HasPrefix(got, "CONNECTED") {
			got = p.heard()
		}
		if !strings.HasPrefix(got, "ERROR\n") || !strings.HasSuffix(got, "\n\n"+errs.Of(test.want).Message) {
			t.Errorf("%.80q is answered %q, want %q", test.text, got, test.want)
		}
		if strings.Contains(test.text, "receipt:r\n") && !strings.Contains(got, "receipt-id:r\n") {
			t.Errorf("%q does not name the receipt", got)
		}
		p.client.Close()
	}
}

// The gateway's goodbye, and its end, become an ERROR.
func TestGoodbyesBecomeErrors(t *testing.T) {
	p := begin(t)
	p.say("CONNECT\naccept-version:1.2\npasscode:bad\n\n\x00")
	p.asked()
	p.answer(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: 4101, Reason: "the token is not valid"}})
	p.wants("ERROR\n", "message:the token is not valid\n", "code:unauthenticated\n", "bye:4101\n")
	q := connected(t, 0)
	q.answer(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: 4000, Reason: "draining", RetryMs: 500}})
	q.wants("ERROR\n", "message:draining\n", "code:unavailable\n", "retry-ms:500\n", "bye:4000\n")
	r := connected(t, 0)
	r.gateway.Close()
	r.wants("ERROR\n", "code:unavailable\n", "retry-ms:1000\n")
}
