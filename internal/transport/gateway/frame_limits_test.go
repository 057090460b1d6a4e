package gateway

import (
	"bytes"
	"compress/flate"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Many sockets of one user, or of one address, send frames without messages, each less than one socket may: all together have one limit.
// What was read is handled, and reading continues when the limit allows it.
func TestSmallFramesOfManySocketsAreThrottled(t *testing.T) {
	const sockets, allowed = 100, 2000
	home := netip.MustParsePrefix("192.0.2.1/32")
	encode := func(f *gatewayv1.ClientFrame) []byte { return clientFrame(opBinary, encoded(t, f)) }
	for what, frame := range map[string][]byte{
		"acks":         encode(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 1}}),
		"acks, pinged": encode(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 1}, Ping: &gatewayv1.Ping{}}),
		"marks":        encode(&gatewayv1.ClientFrame{Marks: []*gatewayv1.Mark{{Conversation: 5, ReadSeq: 1}}}),
		"typing":       encode(&gatewayv1.ClientFrame{Typing: 5}),
		"ping frames":  encode(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}),
		"empty frames": encode(&gatewayv1.ClientFrame{}),
		"pings":        clientFrame(opPing, nil),
		"pongs":        clientFrame(opPong, nil),
	} {
		for by, test := range map[string]struct {
			config ratelimit.Config
			user   func(n int) id.User
		}{
			"user":    {ratelimit.Config{FrameUser: "1000/s burst 2000", FrameAddress: "none"}, func(int) id.User { return 7 }},
			"address": {ratelimit.Config{FrameUser: "none", FrameAddress: "1000/s burst 2000"}, func(n int) id.User { return id.User(n + 1) }},
		} {
			first, _ := bench(t)
			s := first.server
			limited(t, s, test.config)
			var all []*conn
			for n := range sockets {
				c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: test.user(n)}, network: home}
				c.state = stateReady
				all = append(all, c)
			}
			other := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 999}, network: netip.MustParsePrefix("192.0.2.2/32")}
			other.state = stateReady
			round := func() (handled int) {
				for _, c := range all {
					for n := 0; c.reads == readOn && n < maxSmallFrames/2; n++ {
						c.read(append([]byte(nil), frame...))
						handled++
						if c.out != nil { // the client reads the answers
							c.out.free()
							c.out = nil
						}
					}
					if c.isEnding() {
						t.Fatalf("%s by %s: a socket is closed", what, by)
					}
				}
				s.serving.Wait()
				return handled
			}
			// In the first round the burst is used, in the second each socket notices it.
			if n := round() + round(); n < allowed || n > allowed+sockets*smallFramesAtOnce {
				t.Errorf("%s: %d of %d frames by one %s are handled at once, want %d", what, n, sockets*maxSmallFrames/2, by, allowed)
			}
			if round() != 0 || s.stats.Throttled.Load() == 0 {
				t.Errorf("%s by %s: reading is not paused", what, by)
			}
			if s.later(1); round() != 0 { // more than a second's frames were handled beyond the limit
				t.Errorf("%s by %s: reading is resumed too early", what, by)
			}
			if other.read(append([]byte(nil), frame...)); other.reads != readOn {
				t.Errorf("%s: the socket of another %s is throttled", what, by)
			}
			s.later(1000)
			if n := round() + round(); n < allowed || n > allowed+sockets*smallFramesAtOnce {
				t.Errorf("%s by %s: %d frames are handled after a time", what, by, n)
			}
		}
	}
}

// Sockets that are not authenticated send pings of WebSocket: those of one address together have a limit, beyond which they are closed. Sockets
// of other addresses, and authenticated ones of the same, stay.
func TestPingsBeforeAuthenticationAreLimited(t *testing.T) {
	for name, op := range map[string]byte{"pings": opPing, "pongs": opPong} {
		ready, _ := bench(t)
		s := ready.server
		limited(t, s, ratelimit.Config{UnauthenticatedPingAddress: "100/s"})
		ready.network = netip.MustParsePrefix("192.0.2.1/32")
		anonymous := func(from netip.Prefix) *conn {
			return &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, network: from}
		}
		ping := func(c *conn) (open bool) {
			c.read(clientFrame(op, nil))
			return !c.isEnding()
		}
		handled := 0
		for range 20 {
			c := anonymous(ready.network)
			for n := 0; n < 10 && ping(c); n++ {
				handled++
			}
			if !c.isEnding() {
				continue
			}
			list := sent(t, c)
			if len(list) == 0 || list[len(list)-1].GetBye().GetCode() != closeFlood {
				t.Errorf("%s: a socket beyond the limit gets %v, want a bye with the code %d", name, list, closeFlood)
			}
		}
		if handled != 100 {
			t.Errorf("%s: %d of 200 of an address are handled, want 100", name, handled)
		}
		if !ping(ready) || !ping(anonymous(netip.MustParsePrefix("192.0.2.2/32"))) || !ping(anonymous(netip.Prefix{})) {
			t.Errorf("%s: a socket that has nothing to do with the flood is closed", name)
		}
		if s.now.Add(1); !ping(anonymous(ready.network)) {
			t.Errorf("%s: a socket is closed when the limit allows more", name)
		}
	}
}

// The buffers of inflated messages are used again: nothing of a message may refer to them once it is handled, such as the body of a call that is
// still being made.
func TestInflatedMessagesAreNotKept(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, r := bench(t)
		c.json, c.deflate = json, true
		read := func(text string) {
			call := &gatewayv1.ClientFrame{Request: 1, Call: &gatewayv1.Call{Method: "/x", Payload: []byte(text)}}
			op, message := byte(opBinary), encoded(t, call)
			if json {
				op, message = opText, fmt.Appendf(nil, `{"request":"1","call":{"method":"/x","body":{"text":%q}}}`, text)
			}
			frame := clientFrame(op, compressed(t, string(message)))
			frame[0] |= compressedBit
			c.read(frame)
			c.server.serving.Wait()
		}
		first := strings.Repeat("first ", 1000)
		read(first)
		body := *r.body.Load()
		for range 10 {
			read(strings.Repeat("other ", 1100))
		}
		if !strings.Contains(string(body), first) || strings.Contains(string(body), "other") {
			t.Errorf("JSON %v: the body of a call was changed by later messages", json)
		}
	}
}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkInflate(b *testing.B) {
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.BestCompression)
	if err == nil {
		_, err = w.Write(make([]byte, 700_000))
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		b.Fatal(err)
	}
	frame := clientFrame(opBinary, bytes.TrimSuffix(z.Bytes(), []byte{0, 0, 0xff, 0xff}))
	frame[0] |= compressedBit
	c, _ := bench(b)
	c.deflate = true
	b.ReportAllocs()
	for b.Loop() {
		c.in.undecodable = 0
		c.read(frame)
		c.takeOutput().free()
	}
}

func BenchmarkReadAcks(b *testing.B) {
	c, _ := bench(b)
	var err error
	if c.server.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{FrameUser: "999999999/s", FrameAddress: "999999999/s"}, c.server.deps.Clock, nil); err != nil {
		b.Fatal(err)
	}
	c.network = netip.MustParsePrefix("192.0.2.1/32")
	payload, err := proto.Marshal(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 1}})
	if err != nil {
		b.Fatal(err)
	}
	frame := clientFrame(opBinary, payload)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%(maxSmallFrames/2) == 0 {
			c.server.now.Add(1)
		}
		c.read(frame)
	}
}
