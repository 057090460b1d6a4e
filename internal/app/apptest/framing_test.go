package apptest_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/gobwas/httphead"
	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/base/backoff"
)

// wire is a socket to which a test writes raw bytes.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func dialWire(t *testing.T, p *apptest.Person, protocol string) *wire {
	t.Helper()
	d := ws.Dialer{Protocols: []string{protocol}, TLSConfig: p.Server.TLS,
		Header: ws.HandshakeHeaderHTTP(http.Header{"Authorization": {"Bearer " + p.AccessToken}})}
	conn, in, _, err := d.Dial(t.Context(), "ws"+strings.TrimPrefix(p.Server.URL, "http")+"/v1/socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if in == nil {
		in = bufio.NewReader(conn)
	}
	return &wire{conn, in}
}

// next returns the next frame.
func (w *wire) next() (ws.Header, []byte, error) {
	h, err := ws.ReadHeader(w.in)
	if err != nil {
		return h, nil, err
	}
	b := make([]byte, h.Length)
	_, err = io.ReadFull(w.in, b)
	return h, b, err
}

// closed reads to the end, and returns the close code, 0 without a close frame.
func (w *wire) closed() int {
	code := 0
	for {
		h, b, err := w.next()
		if err != nil {
			return code
		}
		if h.OpCode == ws.OpClose && len(b) >= 2 {
			code = int(binary.BigEndian.Uint16(b))
		}
	}
}

// frame encodes a client's frame; bits is the first byte.
func frame(bits byte, payload []byte) []byte {
	b := []byte{bits}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, 0, 0, 0, 0) // a mask of zeros
	return append(b, payload...)
}

// declared encodes the header of a frame with a declared length.
func declared(bits byte, n uint64) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{bits, 0x80 | 127}, n), 0, 0, 0, 0)
}

const (
	final  = 0x80
	text   = 1
	binry  = 2
	end    = 8
	ping   = 9
	packed = 0x40
)

// A client that violates the framing gets a close code that forbids reconnecting, and nobody else is affected.
func TestBrokenFraming(t *testing.T) {
	part := bytes.Repeat([]byte{'x'}, 100_000)
	many := func(n int, piece []byte) []byte {
		b := frame(text, piece)
		return append(b, bytes.Repeat(frame(0, piece), n)...)
	}
	closing := func(code uint16, reason string) []byte {
		return frame(final|end, append(binary.BigEndian.AppendUint16(nil, code), reason...))
	}
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		other := dialWire(t, h.Register(t, "bob"), "rialto.v1.json")
		for _, c := range []struct {
			name  string
			bytes []byte
			code  int
		}{
			{"no mask", []byte{final | text, 2, '{', '}'}, 4100},
			{"a reserved bit", frame(final|0x20|text, []byte("{}")), 4100},
			{"compressed without negotiation", frame(final|packed|text, []byte("{}")), 4100},
			{"a reserved opcode", frame(final|3, nil), 4100},
			{"a reserved control opcode", frame(final|11, nil), 4100},
			{"a ping in pieces", frame(ping, nil), 4100},
			{"a long ping", frame(final|ping, make([]byte, 126)), 4100},
			{"a continuation without a first frame", frame(final, []byte("{}")), 4100},
			{"a message inside a fragmented one", append(frame(text, []byte("{")), frame(final|text, []byte("}"))...), 4100},
			{"2^63 bytes", declared(final|text, 1<<63), 4103},
			{"2^64-1 bytes", declared(final|text, 1<<64-1), 4103},
			{"a byte more than 1 MiB", declared(final|text, 1<<20+1), 4103},
			{"pieces that sum to more than 1 MiB", many(10, part), 4103},
			{"endless fragments", many(1000, nil), 4103},
			{"a close of one byte", frame(final|end, []byte{3}), 1002},
			{"a close with a reserved code", closing(1006, ""), 1002},
			{"a close with an unknown code", closing(999, ""), 1002},
			{"a close whose reason is not UTF-8", closing(1000, "\xff"), 1007},
			{"a good close", closing(1000, "bye"), 1000},
			{"a close without a code", frame(final|end, nil), 1000},
			{"another's close", closing(4321, ""), 4321},
		} {
			w := dialWire(t, alice, "rialto.v1.json")
			if _, err := w.Write(c.bytes); err != nil {
				t.Logf("%s: write: %v", c.name, err) // the server may close before everything is written
			}
			if code := w.closed(); code != c.code {
				t.Errorf("%s: closed with %d, want %d", c.name, code, c.code)
			}
		}
		if _, err := other.Write(frame(final|text, []byte(`{"request":"7","ping":{}}`))); err != nil {
			t.Fatal(err)
		}
		for {
			_, b, err := other.next()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("pong")) {
				break
			}
		}
	})
}

// Unauthenticated clients get no compression, and their first message must be small; with credentials in the handshake both limits are
// off.
func TestBeforeAuthentication(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		var short bytes.Buffer
		z, err := flate.NewWriter(&short, flate.BestSpeed)
		if err == nil {
			_, err = z.Write([]byte{7<<3 | 2, 0}) // a ping
		}
		if err == nil {
			err = z.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		compressed := frame(final|packed|binry, bytes.TrimSuffix(short.Bytes(), []byte{0, 0, 0xff, 0xff}))
		for _, c := range []struct {
			name       string
			credential bool
			bytes      []byte
			code       int
		}{
			{"a compressed frame", false, compressed, 4100},
			{"17 KiB", false, declared(final|binry, 17<<10), 4103},
			{"16 KiB that are not a valid frame", false, append(frame(final|binry, bytes.Repeat([]byte{0xff}, 16<<10)), frame(final|end, []byte{3, 232})...), 1000},
			{"a compressed frame of an authenticated client", true, append(bytes.Clone(compressed), frame(final|end, []byte{3, 232})...), 1000},
		} {
			header := http.Header{}
			if c.credential {
				header.Set("Authorization", "Bearer "+alice.AccessToken)
			}
			d := ws.Dialer{Protocols: []string{"rialto.v1.proto"}, TLSConfig: h.TLS, Header: ws.HandshakeHeaderHTTP(header),
				Extensions: []httphead.Option{httphead.NewOption("permessage-deflate", nil)}}
			conn, in, shake, err := d.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/v1/socket")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			if in == nil {
				in = bufio.NewReader(conn)
			}
			if len(shake.Extensions) == 1 != c.credential {
				t.Errorf("%s: got extensions %v, want one if there is a credential (%v), else none", c.name, shake.Extensions, c.credential)
			}
			w := &wire{conn, in}
			if _, err := w.Write(c.bytes); err != nil {
				t.Logf("%s: %v", c.name, err) // the server may close before everything is written
			}
			if code := w.closed(); code != c.code {
				t.Errorf("%s: closed with %d, want %d", c.name, code, c.code)
			}
		}
	})
}

// The result does not depend on how the network splits the bytes: byte by byte, or all at once; also with pings between the fragments of
// a message.
func TestFramesByteByByte(t *testing.T) {
	both(t, func(t *testing.T, h *apptest.Server) {
		alice := h.Register(t, "alice")
		var all []byte
		for n := range 3 {
			whole := fmt.Appendf(nil, `{"request":"%d","ping":{}}`, n+1)
			all = append(all, frame(text, whole[:9])...)
			all = append(all, frame(final|ping, []byte("between"))...)
			all = append(all, frame(0, nil)...)
			all = append(all, frame(final, whole[9:])...)
		}
		for _, size := range []int{1, 2, 7, len(all)} {
			w := dialWire(t, alice, "rialto.v1.json")
			for rest := all; len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			pongs, answers := 0, ""
			for pongs < 3 || len(answers) < 3 {
				h, b, err := w.next()
				if err != nil {
					t.Fatal(err)
				}
				if h.OpCode == ws.OpPong && string(b) == "between" {
					pongs++
				}
				if i := bytes.Index(b, []byte(`"request":"`)); i >= 0 {
					answers += string(b[i+11 : i+12])
				}
			}
			if answers != "123" || pongs != 3 {
				t.Errorf("in pieces of %d bytes: got %d pongs, answers %s", size, pongs, answers)
			}
		}
	})
}

// JSON that is too deep, too long or invalid is answered with bad_json at once, and the connection stays open.
func TestBadJSON(t *testing.T) {
	h := apptest.Open(t, nil)
	alice := h.Register(t, "alice")
	deep := func(n int) string {
		return `{"call":{"method":"x","body":{"a":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) + `}}}`
	}
	for _, c := range []struct{ name, frame string }{
		{"nothing", ""},
		{"a word", "null"},
		{"a number", "1"},
		{"truncated", `{"ping":`},
		{"two", `{"ping":{}} {"ping":{}}`},
		{"10,000 deep", deep(10_000)},
		{"1,000 deep", deep(1000)},
		{"10,000 brackets", strings.Repeat("[", 10_000)},
		{"a repeated key", `{"request":"1","request":"2","ping":{}}`},
		{"a repeated inner key", `{"ping":{"rttMs":1,"rttMs":2}}`},
		{"two members of a oneof", `{"sends":[{"conversation":"1","content":{"text":"x","media":{}}}]}`},
		{"a number out of range", `{"request":1e999}`},
		{"more than 64 bits", `{"request":"18446744073709551616"}`},
		{"a negative unsigned number", `{"request":"-1"}`},
		{"a fraction for an integer", `{"request":1.5}`},
		{"no number", `{"request":NaN}`},
		{"a high surrogate alone", `{"sends":[{"conversation":"1","clientMsgId":"\ud83d"}]}`},
		{"a low surrogate alone", `{"sends":[{"conversation":"1","clientMsgId":"\ude00x"}]}`},
		{"a raw control character", "{\"sends\":[{\"clientMsgId\":\"\x01\"}]}"},
		{"an unknown field", `{"neverHeardOf":1}`},
		{"a list for a message", `{"ping":[{}]}`},
	} {
		w := dialWire(t, alice, "rialto.v1.json")
		if _, err := w.Write(append(frame(final|text, []byte(c.frame)), frame(final|text, []byte(`{"request":"42","ping":{}}`))...)); err != nil {
			t.Fatal(err)
		}
		refused := false
		for {
			_, b, err := w.next()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			refused = refused || bytes.Contains(b, []byte("bad_json"))
			if bytes.Contains(b, []byte(`"pong"`)) {
				break
			}
		}
		if !refused {
			t.Errorf("%s: got another answer, want bad_json", c.name)
		}
	}
}

// A message without valid content is refused by itself: other messages in the frame are stored.
func TestInvalidContentIsRefusedByItself(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	s, _ := alice.Socket(t, "rialto.v1.proto")
	send := func(seq byte, content ...byte) []byte {
		b := append(binary.AppendUvarint([]byte{1 << 3}, c), 2<<3, seq, 4<<3|2, byte(len(content)))
		b = append(b, content...)
		return append([]byte{3<<3 | 2, byte(len(b))}, b...)
	}
	f := append(send(1, 0xbd), send(2, 0x0a, 1, 'x')...)
	f = append(f, send(3, 0x0a, 5, 'x')...)
	if err := s.Conn.Write(t.Context(), websocket.MessageBinary, f); err != nil {
		t.Fatal(err)
	}
	reasons := map[uint64]string{}
	for len(reasons) < 3 {
		for _, r := range s.Read().Receipts {
			if wait := r.Error.GetRetryMs(); wait > 0 && backoff.Sleep(t.Context(), time.Duration(wait)*time.Millisecond) == nil {
				if err := s.Conn.Write(t.Context(), websocket.MessageBinary, f); err != nil { // refused for a time, as under load
					t.Fatal(err)
				}
				continue
			}
			reasons[r.ClientSeq] = r.Error.GetReason()
		}
	}
	if reasons[1] != "no_content" || reasons[2] != "" || reasons[3] != "no_content" {
		t.Errorf("got reasons %v, want no_content for the first and the third send, and none for the second", reasons)
	}
}
