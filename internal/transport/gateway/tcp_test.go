package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// prefixed is a frame with its length before it.
func prefixed(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// prefixedFrames reads the frames of b, and what follows them.
func prefixedFrames(t *testing.T, b []byte) (list []*gatewayv1.ServerFrame) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < lengthSize || uint64(len(b)-lengthSize) < uint64(binary.BigEndian.Uint32(b)) {
			t.Fatalf("%d bytes are no whole frame: %x", len(b), b[:min(len(b), 40)])
		}
		n := lengthSize + int(binary.BigEndian.Uint32(b))
		f := &gatewayv1.ServerFrame{}
		if err := proto.Unmarshal(b[lengthSize:n], f); err != nil {
			t.Fatal(err)
		}
		list, b = append(list, f), b[n:]
	}
	return list
}

// A frame over TCP is at most as long as one of WebSocket, before authentication and after. A longer one closes the connection, with a reason and
// without a close frame. Its announced length is not allocated.
func TestLengthsOverTCPAreBounded(t *testing.T) {
	for _, test := range []struct {
		length      uint32
		ready, ends bool
	}{
		{maxFirstMessage, false, false}, {maxFirstMessage + 1, false, true}, {maxFrame, false, true}, {1 << 31, false, true}, {1<<32 - 1, false, true},
		{binary.BigEndian.Uint32([]byte("GET ")), false, true}, {maxFirstMessage + 1, true, false}, {maxFrame, true, false}, {maxFrame + 1, true, true}, {1<<32 - 1, true, true},
	} {
		c, _ := bench(t)
		c.prefixed, c.state = true, stateOf(test.ready)
		c.read(append(binary.BigEndian.AppendUint32(nil, test.length), "abc"...))
		if n := cap(c.in.partial); n > 100 {
			t.Errorf("%d bytes are allocated for 7", n)
		}
		if c.isEnding() != test.ends {
			t.Errorf("%d bytes, authenticated %v: closing %v", test.length, test.ready, c.isEnding())
		}
		if list := sent(t, c); test.ends && (len(list) != 1 || list[0].GetBye().GetCode() != closeTooLarge || c.reads == readOn) {
			t.Errorf("%d bytes are answered %v; reads %v", test.length, list, c.reads)
		}
	}
	c, r := bench(t) // the longest frame is handled, in one piece or many
	other, pieces := bench(t)
	c.prefixed, other.prefixed = true, true
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: string(make([]byte, maxFrame-100))}}
	whole := prefixed(encoded(t, &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: text}}}))
	c.read(bytes.Clone(whole))
	for rest := bytes.Clone(whole); len(rest) > 0; rest = rest[min(len(rest), 1000):] {
		other.read(rest[:min(len(rest), 1000)])
	}
	if len(r.asked) != 1 || !slices.Equal(r.asked, pieces.asked) || c.isEnding() || other.isEnding() {
		t.Errorf("of 2 long frames %d are handled; closing %v and %v", len(r.asked)+len(pieces.asked), c.isEnding(), other.isEnding())
	}
}

// Frames that nobody needs, or that cannot be decoded, close a connection over TCP after as many as one of WebSocket.
func TestFloodsOverTCP(t *testing.T) {
	for name, test := range map[string]struct {
		frame []byte
		after int
		code  uint32
	}{
		"empty":  {prefixed(nil), maxEmptyFrames, closeFlood},
		"pings":  {prefixed([]byte("\x3a\x00")), maxEmptyFrames, closeFlood},
		"absurd": {prefixed([]byte("\xff\xff")), maxUndecodable - 1, closeProtocol},
	} {
		c, _ := bench(t)
		c.prefixed = true
		n := 0
		var bye *gatewayv1.Bye
		for ; bye == nil && n < 2*maxEmptyFrames; n++ {
			c.read(bytes.Clone(test.frame))
			for _, f := range sent(t, c) {
				bye = f.Bye
			}
		}
		if bye.GetCode() != test.code || n != test.after+1 {
			t.Errorf("%s: after %d frames %v, want %d after %d", name, n, bye, test.code, test.after+1)
		}
	}
	c, _ := bench(t)
	c.prefixed, c.state = true, stateUnauthenticated
	c.read(prefixed([]byte("\x3a\x00")))
	if list := sent(t, c); len(list) != 1 || list[0].GetBye().GetCode() != closeAuth {
		t.Errorf("a ping before authentication is answered %v", list)
	}
}

// storing answers each send at once.
type storing struct{ *fakeServices }

func (storing) Submit(d *message.Draft) { d.Done(d) }

// A send and its receipt allocate nothing, with either framing.
func TestSendsDoNotAllocate(t *testing.T) {
	payload := encoded(t, &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}}})
	for name, frame := range map[string][]byte{"WebSocket": clientFrame(opBinary, payload), "TCP": prefixed(payload)} {
		c, r := bench(t)
		c.server.deps.Chat = storing{r}
		c.prefixed = name == "TCP"
		c.queued = true // in the flusher's list, which nothing empties here
		send := func() {
			c.read(frame)
			c.takeOutput().free()
		}
		send()
		most := 1.0 // the garbage collector may empty a pool
		if sqltest.WithRaceDetector {
			most = 3 // it makes pools forget some of what they have
		}
		if n := testing.AllocsPerRun(100, send); n >= most {
			t.Errorf("%s: %v allocations for a send", name, n)
		}
		if c.server.stats.Receipts.Load() < 100 {
			t.Errorf("%s: %d receipts", name, c.server.stats.Receipts.Load())
		}
	}
}

// A connection over TCP is counted as unauthenticated until its first frame is accepted, or it ends. It is served by an event loop, or by
// goroutines where it has no descriptor.
func TestServeTCP(t *testing.T) {
	first, r := bench(t)
	s := first.server
	s.deps.Accounts = verified{r}
	s.deps.Node, s.config.DrainOver = "n", 0
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for name, open := range map[string]func() (server, client net.Conn){"an event loop": tcpPair(t), "goroutines": net.Pipe} {
		counted := inputlimit.NewConnections(10, 10)
		serve := func() net.Conn {
			server, client := open()
			slot, _ := counted.Acquire(netip.MustParsePrefix("192.0.2.1/32"))
			s.ServeTCP(server, netip.MustParsePrefix("192.0.2.1/32"), slot)
			return client
		}
		client := serve()
		if counted.Count() != 1 {
			t.Errorf("%s: %d connections are counted before authentication", name, counted.Count())
		}
		must(client.Write(prefixed(encoded(t, &gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: "any"}, Request: 3, Ping: &gatewayv1.Ping{}}))))
		if f := readFrame(t, client); f.Hello.GetUser() != 7 {
			t.Errorf("%s: the first frame is %v", name, f)
		}
		if f := readFrame(t, client); f.Pong == nil || f.Request != 3 {
			t.Errorf("%s: the second frame is %v", name, f)
		}
		if counted.Count() != 0 {
			t.Errorf("%s: %d connections are counted after authentication", name, counted.Count())
		}
		client.Close()
		client = serve()
		client.Close()
		eventually.True(t, "the slot is free", func() bool { return counted.Count() == 0 })
		s.mu.Lock()
		s.draining = true
		s.mu.Unlock()
		server, client := open()
		slot, _ := counted.Acquire(netip.Prefix{})
		go s.ServeTCP(server, netip.Prefix{}, slot)
		if f := readFrame(t, client); f.Bye.GetCode() != closeDrain || f.Bye.GetRetryMs() == 0 {
			t.Errorf("%s: a server that stops says %v", name, f)
		}
		if n, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the reason come %d bytes, %v", name, n, err)
		}
		eventually.True(t, "the slot is free", func() bool { return counted.Count() == 0 })
		s.mu.Lock()
		s.draining = false
		s.mu.Unlock()
	}
}

func readFrame(t *testing.T, from io.Reader) *gatewayv1.ServerFrame {
	t.Helper()
	head := make([]byte, lengthSize)
	must(io.ReadFull(from, head))
	body := make([]byte, binary.BigEndian.Uint32(head))
	must(io.ReadFull(from, body))
	f := &gatewayv1.ServerFrame{}
	if err := proto.Unmarshal(body, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// tcpPair returns a function that opens a connection on loopback.
func tcpPair(t *testing.T) func() (server, client net.Conn) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func() (server, client net.Conn) {
		client = must((&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()))
		return must(l.Accept()), client
	}
}

// Bytes over TCP make the same calls whether they are read at once or in pieces, and these are the calls of the frames in them.
func FuzzTCPInPieces(f *testing.F) {
	frames(f)
	f.Add(append(prefixed(must(proto.Marshal(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 7}}))), 0, 0, 0, 0, 0, 0, 0, 9, 1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0x10, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		// As frames with lengths of its own, and as the content of one frame.
		for _, b := range [][]byte{b, prefixed(b), append(prefixed(b), prefixed(b)...)} {
			var want []string
			over := false
			for rest := b; !over && len(rest) >= lengthSize; {
				n := uint64(binary.BigEndian.Uint32(rest))
				if over = n > maxFrame; over || n > uint64(len(rest)-lengthSize) {
					break
				}
				c, r := bench(t)
				c.read(clientFrame(opBinary, rest[lengthSize:lengthSize+n]))
				c.server.serving.Wait()
				want, rest = append(want, r.asked...), rest[lengthSize+n:]
			}
			for _, size := range []int{len(b), 1, 3} {
				c, r := bench(t)
				c.prefixed = true
				for rest := bytes.Clone(b); len(rest) > 0; {
					n := min(size, len(rest))
					c.read(rest[:n])
					rest = rest[n:]
				}
				c.server.serving.Wait()
				if fmt.Sprint(r.asked) != fmt.Sprint(want) || over && !c.isEnding() {
					t.Fatalf("in pieces of %d: calls %v, want %v; too long %v, closing %v", size, r.asked, want, over, c.isEnding())
				}
				prefixedFrames(t, c.output())
			}
		}
	})
}

// output takes what is to be written.
func (c *conn) output() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out := c.takeOutput(); out != nil {
		return out.b
	}
	return nil
}

// The bytes on the protocol's page are those of the frames beside them.
func TestTheProtocolShowsBytesOverTCP(t *testing.T) {
	page := string(must(os.ReadFile("../../../docs/protocol.md")))
	for _, f := range []*gatewayv1.ClientFrame{{Auth: &gatewayv1.Auth{AccessToken: "TOKEN"}}, {Request: 7, Ping: &gatewayv1.Ping{RttMs: 12}}} {
		body := encoded(t, f)
		if want := fmt.Sprintf("\n% x ", prefixed(nil)[:3]) + fmt.Sprintf("%02x ", len(body)); !strings.Contains(page, want) || !strings.Contains(page, fmt.Sprintf("\n% x ", body)) {
			t.Errorf("docs/protocol.md lacks the bytes of %v: %s and % x", f, want, body)
		}
	}
}

// A sync acknowledges what is before it, but not that of a translator: its own client has not acknowledged it.
func TestTranslatorsSyncsAcknowledgeNothing(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		c, r := bench(t)
		c.prefixed, c.keepsAck = true, keeps
		c.read(prefixed(encoded(t, &gatewayv1.ClientFrame{Request: 3, Sync: &chatv1.SyncRequest{After: &chatv1.Position{Seq: 7}}})))
		c.server.serving.Wait()
		if list := sent(t, c); len(list) != 1 || list[0].Request != 3 {
			t.Errorf("a sync is answered %v", list)
		}
		if acks := len(r.asked); acks > 0 == keeps {
			t.Errorf("a translator %v: %d acknowledgements, %v", keeps, acks, r.asked)
		}
	}
}

// What it costs to read a send and to answer it. Clients of WebSocket mask what they send; clients over TCP do not.
func BenchmarkReadSendOfEachFraming(b *testing.B) {
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("rialto ", 30)}}
	payload, err := proto.Marshal(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: text}}})
	if err != nil {
		b.Fatal(err)
	}
	masked := clientFrame(opBinary, payload)
	start := len(masked) - len(payload)
	copy(masked[start-4:start], "mask")
	unmask(masked[start:], []byte("mask"))
	for _, of := range []struct {
		name  string
		frame []byte
	}{{"WebSocket", masked}, {"TCP", prefixed(payload)}} {
		b.Run(of.name, func(b *testing.B) {
			c, r := bench(b)
			c.server.deps.Chat = storing{r}
			c.prefixed, c.queued = of.name == "TCP", true
			in := make([]byte, len(of.frame))
			b.ReportAllocs()
			for b.Loop() {
				copy(in, of.frame) // it is unmasked in place
				c.read(in)
				c.takeOutput().free()
			}
			if c.server.stats.Receipts.Load() == 0 {
				b.Error("no send was answered")
			}
		})
	}
}
