package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/gobwas/ws"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/proto"
)

// A long answer is one answer: whoever reads it may go on asking. Whoever does not is told so, and keeps the connection.
func TestLongAnswersPassOneByOne(t *testing.T) {
	c, _ := bench(t)
	long, err := proto.Marshal(&gatewayv1.ServerFrame{Request: 1, Result: &gatewayv1.Result{Payload: make([]byte, 3*maxPending)}})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		c.answer(1, opBinary, long)
		c.answer(2, opBinary, long)
		if c.hungUp {
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

// A connection that ends while its credentials are looked at leaves nothing behind.
func TestOneWhoIsGoneIsNotMadeKnown(t *testing.T) {
	c, _ := bench(t)
	if !c.enter() || !c.server.hub.knows(c) {
		t.Error("a living one is not known")
	}
	c.closed()
	if c.server.hub.knows(c) {
		t.Error("known after its end")
	}
	c, _ = bench(t)
	c.closed()
	if err := c.greet(t.Context()); err != nil || c.server.hub.knows(c) {
		t.Errorf("known although over: %v", err)
	}
}

// What a user leaves while a connection is greeted is left, also when the list of the user's conversations was read before.
func TestLeavingDuringTheGreeting(t *testing.T) {
	c, _ := bench(t)
	c.ready = false
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
		if step.do(); !slices.Equal(c.large, step.want) {
			t.Errorf("%s: follows %v, want %v", step.name, c.large, step.want)
		}
	}
}

// The length that a frame announces costs nothing until it comes.
func TestAnnouncedLengthsAreNotAllocated(t *testing.T) {
	c, _ := bench(t)
	head := binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, maxFrame)
	c.read(bytes.Clone(append(head, 1, 2, 3, 4)))
	if n := cap(c.in.partial); n == 0 || n > 100 {
		t.Errorf("%d bytes for 14", n)
	}
	whole := make([]byte, maxFrame)
	for rest := whole; len(rest) > 0; rest = rest[min(len(rest), 1000):] {
		c.read(bytes.Clone(rest[:min(len(rest), 1000)]))
	}
	if len(c.in.partial) != 0 || c.server.stats.FramesIn.Load() != 1 {
		t.Errorf("%d bytes are left of a whole frame, %d frames came", len(c.in.partial), c.server.stats.FramesIn.Load())
	}
}

// What one connection has under way is bounded by bytes too: beyond, nothing more is read until the receipts are out.
func TestLargeSendsPauseTheirSender(t *testing.T) {
	c, _ := bench(t)
	var under []*message.Draft
	for range 10 {
		d := &message.Draft{Content: make([]byte, maxUnderWay/4)}
		c.submit(d)
		under = append(under, d)
		if c.paused {
			break
		}
	}
	if len(under) != 4 {
		t.Fatalf("paused after %d", len(under))
	}
	for i, d := range under {
		d.Content = nil // chat may give it another form
		c.receipt(d)
		c.take()
		c.relax()
		if c.paused != (i < 2) {
			t.Errorf("after %d receipts: paused %v", i+1, c.paused)
		}
	}
	if c.underWay.Load() != 0 || c.inFlight.Load() != 0 {
		t.Errorf("%d bytes and %d sends are under way for ever", c.underWay.Load(), c.inFlight.Load())
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

// Frames that carry nothing are counted by the second, and a message has so many parts.
func TestFloodsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		frame []byte
		after int
		code  uint32
	}{
		"pings":  {masked(0x89, ""), maxEmpty, closeFlood},
		"pongs":  {masked(0x8a, "x"), maxEmpty, closeFlood},
		"empty":  {masked(0x82, ""), maxEmpty, closeFlood},
		"parts":  {masked(0x00, ""), maxParts - 1, closeTooLarge},
		"absurd": {masked(0x82, "\xff\xff"), maxBad - 1, closeProtocol},
		"type":   {masked(0x81, "{}"), maxBad - 1, closeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := bench(t)
			if name == "parts" {
				c.read(masked(0x02, ""))
			}
			var bye *gatewayv1.Bye
			n := 0
			for ; bye == nil && n < 2*maxEmpty; n++ {
				c.read(bytes.Clone(test.frame))
				if c.out == nil {
					continue
				}
				out := c.take()
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
					if h.OpCode == ws.OpBinary && proto.Unmarshal(payload, &frame) == nil && frame.Bye != nil {
						bye = frame.Bye
					}
				}
				out.free()
			}
			if bye.GetCode() != test.code || n != test.after+1 {
				t.Errorf("after %d frames: %v, want %d after %d", n, bye, test.code, test.after+1)
			}
		})
	}
	c, _ := bench(t)
	for range 5 {
		for range maxEmpty {
			c.read(masked(0x89, ""))
		}
		c.take()
		c.server.now.Add(1)
	}
	if c.closing {
		t.Error("closed for as many as are allowed, in five seconds")
	}
}

// Calls end with their connection, and an idle connection keeps nothing of them. As many as a connection may have wait at once.
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
		if err := c.handle(&gatewayv1.ClientFrame{Request: 1, Call: &gatewayv1.Call{Method: "/x"}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		call()
		<-begun
		answer <- struct{}{}
		c.server.serving.Wait()
		if list := sent(t, c); c.running != nil || len(list) != 1 || list[0].Result == nil {
			t.Fatalf("after its answer a call is kept, or its answer is %v", list)
		}
	}
	for range maxCalls {
		call()
		<-begun
	}
	call()
	if list := sent(t, c); len(list) != 1 || list[0].GetError().GetReason() != "too_many_calls" {
		t.Errorf("one call too many: %v", list)
	}
	c.closed()
	for range maxCalls {
		if err := <-ended; err != context.Canceled {
			t.Errorf("a call of a connection that is over ended by %v", err)
		}
	}
	c.server.serving.Wait()
	call() // what came in the same read as the end begins no more
	c.server.serving.Wait()
	if c.running != nil {
		t.Error("calls are kept for ever")
	}
}
