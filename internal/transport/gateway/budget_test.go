package gateway

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// The bytes of an incomplete message are charged until the message is complete or its connection has ended, for whatever reason.
func TestIncompleteMessagesAreCharged(t *testing.T) {
	half := func(n int) []byte { // of a binary message of 64 KiB
		b := append([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0}, 0, 0, 0, 0)
		return append(b, make([]byte, n)...)
	}
	part := append([]byte{0x02, 0xfe, 0x20, 0}, make([]byte, 4+8192)...)
	for name, test := range map[string]struct {
		come []byte
		end  func(c *conn)
	}{
		"the rest comes":           {half(10_000), func(c *conn) { c.read(make([]byte, 64<<10-10_000)) }},
		"it is closed":             {half(10_000), (*conn).onClosed},
		"the framing breaks":       {append(part, half(10_000)[:4]...), func(c *conn) { c.read(masked(0xf2, "")) }},
		"parts, and the last":      {part, func(c *conn) { c.read(masked(0x80, "")) }},
		"parts, and it is closed":  {part, (*conn).onClosed},
		"the rest comes, over TCP": {append([]byte{0, 1, 0, 0}, make([]byte, 10_000)...), func(c *conn) { c.read(make([]byte, 64<<10-10_000)) }},
		"it is closed, over TCP":   {append([]byte{0, 1, 0, 0}, make([]byte, 10_000)...), (*conn).onClosed},
	} {
		c, _ := bench(t)
		c.prefixed = strings.HasSuffix(name, "over TCP")
		memory := c.server.deps.Input
		c.read(bytes.Clone(test.come))
		if held := memory.Used(); held < 8192 || held > 64<<10 {
			t.Errorf("%s: %d bytes are charged", name, held)
		}
		if test.end(c); memory.Used() != 0 {
			t.Errorf("%s: %d bytes are still charged afterwards", name, memory.Used())
		}
	}
	c, _ := bench(t)
	c.state = stateUnauthenticated
	c.read(half(0)[:8])
	if input := c.server.deps.Input; input.Used() == 0 || !input.InUse(false) || input.InUse(true) {
		t.Error("a message before authentication is charged as an authenticated one")
	}
}

// If there is no memory for the rest of a message, its connection is closed with a retry delay. Other connections stay open.
func TestInputAboveMemoryLimitGetsRetryDelay(t *testing.T) {
	c, _ := bench(t)
	c.server.deps.Input = inputlimit.NewMemory(256 << 10)
	c.read(append([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0}, make([]byte, 40<<10)...))
	list := sent(t, c)
	if len(list) != 1 || list[0].GetBye().GetCode() != closeBusy || list[0].GetBye().GetRetryMs() == 0 || !c.isEnding() {
		t.Fatalf("it was answered %v", list)
	}
	if held := c.server.deps.Input.Used(); held != 0 {
		t.Errorf("%d bytes are charged after the refusal", held)
	}
	// The bodies of waiting calls are charged as well, and a call without memory is answered.
	other, r := bench(t)
	other.server.deps.Input = c.server.deps.Input
	begun, answer := make(chan struct{}), make(chan struct{})
	r.invoke = func(context.Context) error {
		begun <- struct{}{}
		<-answer
		return nil
	}
	call := func(n int) {
		t.Helper()
		if err := other.handle(&gatewayv1.ClientFrame{Request: 7, Call: &gatewayv1.Call{Method: "/x", Payload: make([]byte, n)}}, n); err != nil {
			t.Fatal(err)
		}
	}
	call(20 << 10)
	<-begun
	if held := c.server.deps.Input.Used(); held != 20<<10 {
		t.Errorf("%d bytes are charged", held)
	}
	call(200 << 10)
	if list := sent(t, other); len(list) != 1 || list[0].Request != 7 || list[0].GetError().GetReason() != "busy" || list[0].Error.RetryMs == 0 || other.isEnding() {
		t.Errorf("a call without memory is answered %v", list)
	}
	close(answer)
	other.server.serving.Wait()
	if held := c.server.deps.Input.Used(); held != 0 || other.activeCalls != nil {
		t.Errorf("%d bytes are charged after all calls, or calls are still listed", held)
	}
}

// Incomplete messages on many sockets of one user, or of one address before authentication, leave memory for others.
func TestSocketsOfOneUserLeaveMemoryForOthers(t *testing.T) {
	for _, authenticated := range []bool{true, false} {
		first, _ := bench(t)
		first.server.deps.Input = inputlimit.NewMemory(1 << 20)
		part := append([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0}, make([]byte, 6000)...)
		open := func(user id.User, address string) *conn {
			c := &conn{server: first.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: user}, network: netip.MustParsePrefix(address)}
			if c.state = stateOf(authenticated); !authenticated {
				part = append([]byte{0x82, 0xfe, 0x20, 0, 0, 0, 0, 0}, make([]byte, 6000)...)
			}
			c.read(bytes.Clone(part))
			return c
		}
		opened := 1
		for !open(7, "192.0.2.1/32").isEnding() {
			if opened++; opened > 100 {
				t.Fatalf("authenticated %v: one user holds %d of %d bytes", authenticated, first.server.deps.Input.Used(), first.server.deps.Input.Limit())
			}
		}
		if other := open(8, "192.0.2.2/32"); other.isEnding() {
			t.Errorf("authenticated %v: another user finds no memory after %d sockets", authenticated, opened)
		}
	}
}
