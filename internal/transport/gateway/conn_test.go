package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A client that reads each long answer may make further calls. One that does not gets an error, and keeps its connection.
func TestLongAnswersPassOneByOne(t *testing.T) {
	c, _ := bench(t)
	long, err := proto.Marshal(&gatewayv1.ServerFrame{Request: 1, Result: &gatewayv1.Result{Payload: make([]byte, 3*maxPending)}})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		c.sendAnswer(1, opBinary, long)
		c.sendAnswer(2, opBinary, long)
		if c.state >= stateAborted {
			t.Fatalf("round %d: cut off", round)
		}
		if most := 3*maxPending + 1000; c.pending() > most {
			t.Errorf("round %d: %d bytes wait", round, c.pending())
		}
		list := sent(t, c)
		if len(list) != 2 || list[0].Result == nil || list[1].Request != 2 || list[1].GetError().GetReason() != "unread_answers" || list[1].Error.RetryMs == 0 {
			t.Fatalf("round %d: %d frames, %v", round, len(list), list[len(list)-1].GetError())
		}
	}
}

func (h *hub) knows(c *conn) (yes bool) {
	h.each(c.caller.User, func(o *conn) { yes = yes || o == c })
	return yes
}

// A connection that closes while its credentials are checked is not registered.
func TestClosedConnectionsAreNotRegistered(t *testing.T) {
	c, _ := bench(t)
	if !c.register() || !c.server.hub.knows(c) {
		t.Error("an open connection is not registered")
	}
	c.onClosed()
	if c.server.hub.knows(c) {
		t.Error("registered after its close")
	}
	c, _ = bench(t)
	c.onClosed()
	if err := c.greet(t.Context()); err != nil || c.server.hub.knows(c) {
		t.Errorf("a closed connection is registered: %v", err)
	}
}

// A conversation that the user leaves during the greeting is not followed, also if the list of conversations was read before.
func TestLeavingDuringTheGreeting(t *testing.T) {
	c, _ := bench(t)
	c.state = stateGreeting
	h := &c.server.hub
	for _, step := range []struct {
		name string
		do   func()
		want []id.Conversation
	}{
		{"left before it was followed", func() { h.unfollow(c, 5); h.follow(c, 5, 0); h.follow(c, 6, 0) }, []id.Conversation{6}},
		{"came back", func() { h.follow(c, 5, 1) }, []id.Conversation{6, 5}},
		{"left after", func() { h.unfollow(c, 6); h.follow(c, 6, 0) }, []id.Conversation{5}},
	} {
		if step.do(); !slices.Equal(c.follows, step.want) {
			t.Errorf("%s: follows %v, want %v", step.name, c.follows, step.want)
		}
	}
}

// The announced length of a frame is not allocated before its bytes arrive.
func TestAnnouncedLengthsAreNotAllocated(t *testing.T) {
	c, _ := bench(t)
	head := binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, maxFrame)
	c.read(bytes.Clone(append(head, 1, 2, 3, 4)))
	if n := cap(c.in.partial); n == 0 || n > 100 {
		t.Errorf("%d bytes are allocated for 14", n)
	}
	whole := make([]byte, maxFrame)
	for rest := whole; len(rest) > 0; rest = rest[min(len(rest), 1000):] {
		c.read(bytes.Clone(rest[:min(len(rest), 1000)]))
	}
	if len(c.in.partial) != 0 || c.server.stats.FramesIn.Load() != 1 {
		t.Errorf("%d bytes remain of a complete frame; %d frames were counted", len(c.in.partial), c.server.stats.FramesIn.Load())
	}
}

// The bytes of a connection's messages without a receipt are bounded. Above the bound, reading is paused until receipts are sent.
func TestLargeSendsPauseTheirSender(t *testing.T) {
	c, _ := bench(t)
	var under []*message.Draft
	for range 10 {
		d := &message.Draft{Content: make([]byte, maxInFlightBytes/4)}
		c.submit(d)
		under = append(under, d)
		if c.reads != readOn {
			break
		}
	}
	if len(under) != 4 {
		t.Fatalf("paused after %d", len(under))
	}
	for i, d := range under {
		d.Content = nil // chat may give it another form
		c.receipt(d)
		c.takeOutput()
		c.resumeReading()
		if (c.reads != readOn) != (i < 2) {
			t.Errorf("after %d receipts: paused %v", i+1, c.reads != readOn)
		}
	}
	if c.inFlightBytes.Load() != 0 || c.inFlight.Load() != 0 {
		t.Errorf("%d bytes and %d sends are still in flight after all receipts", c.inFlightBytes.Load(), c.inFlight.Load())
	}
}

func TestCloseFramesAreAnswered(t *testing.T) {
	for _, test := range []struct {
		payload string
		want    uint16
	}{
		{"", 1000}, {"\x03\xe8", 1000}, {"\x03\xe8bye", 1000}, {"\x10\x04", 4100}, {"\x0b\xb8", 3000},
		{"\x03", 1002}, {"\x00\x00", 1002}, {"\x03\xec", 1002}, {"\x03\xed", 1002}, {"\x03\xee", 1002}, {"\x03\xf7", 1002}, {"\x07\xd0", 1002}, {"\xff\xff", 1002}, {"\x13\x88", 1002},
		{"\x03\xe8\xff\xfe", 1007},
	} {
		if got := closeAnswer([]byte(test.payload)); got != test.want {
			t.Errorf("%x is answered %d, want %d", test.payload, got, test.want)
		}
	}
}

// masked is a client's frame with a zero mask.
func masked(head byte, payload string) []byte {
	return append([]byte{head, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

// A flood of empty frames within a second, or of fragments of one message, closes the connection.
func TestFloodsCloseTheConnection(t *testing.T) {
	for name, test := range map[string]struct {
		frame []byte
		after int
		code  uint32
	}{
		"ping frames": {masked(0x82, "\x3a\x00"), maxEmptyFrames, closeFlood}, // ClientFrame.ping
		"JSON pings":  {masked(0x81, `{"ping":{}}`), maxEmptyFrames, closeFlood},
		"JSON empty":  {masked(0x81, `{}`), maxEmptyFrames, closeFlood},
		"pings":       {masked(0x89, ""), maxEmptyFrames, closeFlood},
		"pongs":       {masked(0x8a, "x"), maxEmptyFrames, closeFlood},
		"empty":       {masked(0x82, ""), maxEmptyFrames, closeFlood},
		"parts":       {masked(0x00, ""), maxParts - 1, closeTooLarge},
		"absurd":      {masked(0x82, "\xff\xff"), maxUndecodable - 1, closeProtocol},
		"type":        {masked(0x81, "{}"), maxUndecodable - 1, closeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := bench(t)
			c.json = strings.HasPrefix(name, "JSON")
			if name == "parts" {
				c.read(masked(0x02, ""))
			}
			var bye *gatewayv1.Bye
			n := 0
			for ; bye == nil && n < 2*maxEmptyFrames; n++ {
				c.read(bytes.Clone(test.frame))
				if c.out == nil {
					continue
				}
				out := c.takeOutput()
				for r := bytes.NewReader(out.b); r.Len() > 0; {
					h, err := ws.ReadHeader(r)
					if err != nil {
						t.Fatal(err)
					}
					payload := make([]byte, h.Length)
					if _, err := io.ReadFull(r, payload); err != nil {
						t.Fatal(err)
					}
					var frame gatewayv1.ServerFrame
					decode := proto.Unmarshal
					if c.json {
						decode = protojson.Unmarshal
					}
					if h.OpCode.IsData() && decode(payload, &frame) == nil && frame.Bye != nil {
						bye = frame.Bye
					}
				}
				out.free()
			}
			if c.reads == readOn {
				t.Error("later frames are read")
			}
			if bye.GetCode() != test.code || n != test.after+1 {
				t.Errorf("after %d frames: %v, want %d after %d", n, bye, test.code, test.after+1)
			}
		})
	}
	c, _ := bench(t)
	for range 5 {
		for range maxEmptyFrames {
			c.read(masked(0x89, ""))
		}
		c.takeOutput()
		c.server.now.Add(1)
	}
	if c.isEnding() {
		t.Error("closed at the allowed rate, after five seconds")
	}
}

// Calls are cancelled when their connection ends, and an idle connection keeps no state of calls. Concurrent calls are bounded.
func TestCallsEndWithTheirConnection(t *testing.T) {
	c, r := bench(t)
	begun, ended, answer := make(chan struct{}), make(chan error, maxCalls), make(chan struct{})
	r.invoke = func(ctx context.Context) error {
		begun <- struct{}{}
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			ended <- ctx.Err()
			return ctx.Err()
		}
	}
	call := func() {
		t.Helper()
		if err := c.handle(&gatewayv1.ClientFrame{Request: 1, Call: &gatewayv1.Call{Method: "/x"}}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		call()
		<-begun
		answer <- struct{}{}
		c.server.serving.Wait()
		if list := sent(t, c); c.activeCalls != nil || len(list) != 1 || list[0].Result == nil {
			t.Fatalf("an answered call is still listed, or its answer is %v", list)
		}
	}
	for range maxCalls {
		call()
		<-begun
	}
	call()
	if list := sent(t, c); len(list) != 1 || list[0].GetError().GetReason() != "too_many_calls" {
		t.Errorf("a call above the bound is answered %v", list)
	}
	c.onClosed()
	for range maxCalls {
		if err := <-ended; err != context.Canceled {
			t.Errorf("a call of a closed connection ended with %v", err)
		}
	}
	c.server.serving.Wait()
	call() // a call in the same read as the close is not started
	c.server.serving.Wait()
	if c.activeCalls != nil {
		t.Error("calls are listed after the close")
	}
}
