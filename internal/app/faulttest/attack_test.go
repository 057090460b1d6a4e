package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/gobwas/ws"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// attacks are what hostile clients do, each on connections of its own. An attack ends when the server ends its connection, or with ctx.
type attacks struct {
	address string
	tokens  []string // of hostile users: each may have 200 sockets
	next    atomic.Uint32
	bombs   []bomb
	page    uint64 // a conversation of theirs whose page is long
	owner   *owner // of the account whose password is guessed
	seen    outcomes
}

type attack struct {
	name string
	do   func(ctx context.Context) error
}

func newAttacks(t *testing.T, p *process) *attacks {
	t.Helper()
	const users = 8
	a := &attacks{address: fmt.Sprintf("127.0.0.1:%d", p.port), bombs: bombs(t), owner: newOwner(t, p)}
	var clients []*rialto.Client
	var ids []uint64
	for n := range users {
		c := person(t, p, fmt.Sprint("villain", n))
		clients, ids = append(clients, c), append(ids, c.User())
	}
	g, err := clients[0].Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "hostile", Members: ids[1:]}))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", 50_000)}}
		if _, err := clients[0].Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: g.Msg.Id, ClientSeq: uint64(n + 1), Content: content})); err != nil {
			t.Fatal(err)
		}
	}
	a.page = g.Msg.Id
	for n := range users {
		a.tokens = append(a.tokens, login(t, p, fmt.Sprint("villain", n)).AccessToken)
	}
	return a
}

// token of one of the hostile users in turn.
func (a *attacks) token() string { return a.tokens[int(a.next.Add(1))%len(a.tokens)] }

// wide appends the lowest bytes of a number, the highest first.
func wide(b []byte, v uint64, bytes int) []byte {
	for i := bytes - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// clientFrame is a WebSocket frame whose mask changes nothing.
func clientFrame(bits byte, payload []byte) []byte {
	b := wide([]byte{bits, 0xff}, uint64(len(payload)), 8)
	return append(append(b, 0, 0, 0, 0), payload...)
}

// kinds of attacks; all but the last ones are by unauthenticated clients.
func (a *attacks) kinds() []attack {
	part := clientFrame(0x02, make([]byte, 1<<20))
	part = part[:len(part)-1]
	users := make([]byte, 1<<19) // a watch of as many users as there are bytes
	watch := protoField(10, protoField(1, users))
	request := func(call, headers string, body []byte) []byte {
		return append(fmt.Appendf(nil, "POST /rialto.%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%s\r\n", call, headers), body...)
	}
	million := bytes.Repeat([]byte(" "), 1<<20-1)
	list := []attack{
		{"a fragment of 1 MiB without its last byte", func(ctx context.Context) error { return a.socket(ctx, "", part) }},
		{"a body of 1 MiB without its last byte", a.raw(request("chat.v1.ChatService/Send", "Content-Length: 1048576\r\n", million))},
		{"a login of 1 MiB without its last byte", a.raw(request("account.v1.AccountService/Login", "Content-Length: 1048576\r\n", million))},
		{"a login of 16 KiB without its last byte", a.raw(request("account.v1.AccountService/Login", "Content-Length: 16384\r\n", million[:16383]))},
		{"a login in chunks without an end", a.raw(request("account.v1.AccountService/Login", "Transfer-Encoding: chunked\r\n", append([]byte("3000\r\n"), million[:0x3000]...)))},
		{"headers without an end", a.raw([]byte("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1000)+"\r\n", 11)))},
		{"nothing", a.raw(nil)},
		{"a first frame of empty sends", a.raw(append([]byte(handshake), clientFrame(0x81, []byte(`{"sends":[`+strings.Repeat("{},", 4000)+`{}]}`))...))},
		{"a first frame of names with escapes", a.raw(append([]byte(handshake), clientFrame(0x81, []byte(`{"sends":[`+strings.Repeat(`{"\u0061":1},`, 1100)+`{}]}`))...))},
		{"pages, and then nothing", a.raw([]byte(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 10)))},
		{before, func(ctx context.Context) error { return a.compressed(before, "", a.bombs[0])(ctx) }},
		{guesses, a.guess},
		{"streams that are begun and reset", a.raw(rapidReset(300))},
		{"endless headers", a.raw(continuations(300))},
		{"streams without their announced bodies", a.raw(openStreams(200))},
		{"streams whose answers nobody takes", a.raw(untakenStreams(100))},
		{"a known user's fragment of 1 MiB without its last byte", func(ctx context.Context) error { return a.socket(ctx, a.token(), part) }},
		{"a known user's watch of 500,000", func(ctx context.Context) error { return a.socket(ctx, a.token(), clientFrame(0x82, watch)) }},
		{"a known user's body of 1 MiB without its last byte", a.raw(request("chat.v1.ChatService/Send", "Content-Length: 1048576\r\nAuthorization: Bearer "+a.token()+"\r\n", million))},
		{"a known user's pages that nobody reads", a.unread},
		{"a known user's content of 330,000 mentions by STOMP", a.stomp},
	}
	for _, b := range a.bombs {
		list = append(list, attack{b.kind(), func(ctx context.Context) error { return a.compressed(b.kind(), a.token(), b)(ctx) }})
	}
	return list
}

// handshake of a socket with frames in JSON.
const handshake = "GET /v1/socket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// stomp sends a content of a megabyte of empty mentions by STOMP over a WebSocket.
func (a *attacks) stomp(ctx context.Context) error {
	body := `{"text":"x","mentions":[` + strings.Repeat("{},", 330_000) + `{}]}`
	connect := fmt.Sprintf("CONNECT\naccept-version:1.2\nhost:a\npasscode:%s\n\n\x00", a.token())
	send := fmt.Sprintf("SEND\ndestination:/conversation/%d\ncontent-type:application/vnd.rialto.content+json\ncontent-length:%d\n\n%s\x00", a.page, len(body), body)
	d := ws.Dialer{Protocols: []string{"v12.stomp"}, Timeout: 10 * time.Second}
	c, in, _, err := d.Dial(ctx, "ws://"+a.address+"/v1/stomp")
	if err != nil {
		return err
	}
	if in == nil {
		in = bufio.NewReaderSize(c, 16)
	}
	return hold(ctx, c, in, append(clientFrame(0x81, []byte(connect)), clientFrame(0x81, []byte(send))...))
}

func protoField(number byte, v []byte) []byte {
	return append(protowire.AppendVarint([]byte{number<<3 | 2}, uint64(len(v))), v...)
}

// raw writes bytes on a connection, and waits for its end.
func (a *attacks) raw(data []byte) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", a.address)
		if err != nil {
			return err
		}
		return hold(ctx, c, c, data)
	}
}

// unread asks for a page of a megabyte, and reads nothing.
func (a *attacks) unread(ctx context.Context) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", a.address)
	if err != nil {
		return err
	}
	defer c.Close()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(1) // the least
	}
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"conversation":"%d"}`, a.page)
	if _, err := fmt.Fprintf(c, "POST /rialto.chat.v1.ChatService/History HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", a.token(), len(body), body); err != nil {
		return err
	}
	select { // until after the time that the server gives
	case <-ctx.Done():
	case <-time.After(time.Minute):
	}
	return ctx.Err()
}

// socket writes bytes on a WebSocket, and waits for its end.
func (a *attacks) socket(ctx context.Context, token string, data []byte) error {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	d := ws.Dialer{Protocols: []string{"rialto.v1.proto"}, Header: ws.HandshakeHeaderHTTP(header), Timeout: 10 * time.Second}
	c, in, _, err := d.Dial(ctx, "ws://"+a.address+"/v1/socket")
	if err != nil {
		return err
	}
	if in == nil {
		in = bufio.NewReaderSize(c, 16)
	}
	return hold(ctx, c, in, data)
}

// hold writes, reads a little now and then, and returns when the server has closed the connection.
func hold(ctx context.Context, c net.Conn, in io.Reader, data []byte) error {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	go func() { _, _ = c.Write(data) }() // ends with the connection, which may be before all is written
	_, err := io.Copy(io.Discard, in)
	return err
}

// Frames of HTTP/2.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func h2frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(wide(b, uint64(stream), 4), payload...)
}

// h2request is the header block of a request: method and path by their index, or a path.
func h2request(path string) []byte {
	block := []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'} // GET, http, /, of host a
	if path != "" {
		block = append([]byte{0x83, 0x86, 0x44, byte(len(path))}, path...) // POST
		block = append(block, 0x41, 1, 'a', 0x5f, byte(len("application/json")))
		block = append(block, "application/json"...)
	}
	return block
}

func rapidReset(n int) []byte {
	b := []byte(preface)
	for i := range n {
		b = append(b, h2frame(1, 5, uint32(2*i+1), h2request(""))...)
		b = append(b, h2frame(3, 0, uint32(2*i+1), []byte{0, 0, 0, 8})...)
	}
	return b
}

func continuations(n int) []byte {
	b := append([]byte(preface), h2frame(1, 0, 1, h2request(""))...)
	for i := range n {
		name := fmt.Sprint("x-", i)
		b = append(b, h2frame(9, 0, 1, append(append([]byte{0, byte(len(name))}, name...), append([]byte{100}, bytes.Repeat([]byte("a"), 100)...)...))...)
	}
	return b
}

func openStreams(n int) []byte {
	b := []byte(preface)
	for i := range n {
		b = append(b, h2frame(1, 4, uint32(2*i+1), h2request("/rialto.account.v1.AccountService/Login"))...)
	}
	return b
}

// untakenStreams are requests with long headers, of whose answers the server may write no byte.
func untakenStreams(n int) []byte {
	b := []byte(strings.TrimSuffix(preface, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	b = append(b, h2frame(4, 0, 0, []byte{0, 4, 0, 0, 0, 0})...)
	const path, long = "/v1/openapi.json", 8000
	block := append([]byte{0x82, 0x86, 0x44, byte(len(path))}, path...) // GET, http
	block = append(block, 0x41, 1, 'a', 0, 1, 'x', 127)
	block = append(protowire.AppendVarint(block, long-127), bytes.Repeat([]byte("x"), long)...) // HPACK's integers above the prefix are varints
	for i := range n {
		b = append(b, h2frame(1, 4, uint32(2*i+1), block)...)
	}
	return b
}
