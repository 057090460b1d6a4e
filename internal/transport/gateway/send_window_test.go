package gateway

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// connOf returns another connection of the server.
func connOf(s *Server, u id.User) *conn {
	c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: u, Device: 8, Session: 9}}
	c.state = stateReady
	return c
}

// submitUntilPaused sends short messages until the connection is not read any more, and returns them.
func submitUntilPaused(c *conn) (under []*message.Draft) {
	for c.reads == readOn {
		d := &message.Draft{Content: make([]byte, 200)}
		c.submit(d)
		under = append(under, d)
	}
	return under
}

func answer(c *conn, list []*message.Draft) {
	for _, d := range list {
		c.receipt(d)
		c.takeOutput()
		c.resumeReading()
	}
}

// One connection has as many messages in flight as a connection may. Of a thousand, the node has hardly more than it is to have, and each may have one whatever the
// others have.
func TestSendWindowsShrinkWithTheNodesMessages(t *testing.T) {
	first, _ := bench(t)
	s := first.server
	alone := submitUntilPaused(first)
	if len(alone) != maxInFlight {
		t.Errorf("a connection alone was paused after %d messages, want %d", len(alone), maxInFlight)
	}
	answer(first, alone)
	if first.reads != readOn || s.inFlight.Load() != 0 {
		t.Fatalf("after all receipts: reading is in state %v, and messages of %d bytes are in flight", first.reads, s.inFlight.Load())
	}
	var crowd []*conn
	under := map[*conn][]*message.Draft{}
	for u := range id.User(1000) {
		c := connOf(s, 100+u)
		crowd, under[c] = append(crowd, c), submitUntilPaused(c)
	}
	if most := int64(nodeInFlight + len(crowd)*(200+sendOverhead)); s.inFlight.Load() > most { // each may have one more
		t.Errorf("messages of %d bytes are in flight, more than %d", s.inFlight.Load(), most)
	}
	if n := len(under[crowd[len(crowd)-1]]); n > 2 {
		t.Errorf("the last of a thousand connections has %d messages in flight", n)
	}
	if n := crowd[0].readSize(64 << 10); n != leastRead {
		t.Errorf("%d bytes are read at once", n)
	}
	s.inFlight.Add(nodeInFlight) // as if there were many more connections
	late := connOf(s, 5)
	one := submitUntilPaused(late)
	if len(one) != 1 {
		t.Errorf("a connection was paused after %d messages, want 1", len(one))
	}
	if answer(late, one); late.reads != readOn {
		t.Error("a connection without messages in flight is not read")
	}
	s.inFlight.Add(-nodeInFlight)
	for _, c := range crowd {
		if answer(c, under[c]); c.reads != readOn {
			t.Fatal("a connection is not read after all of its receipts")
		}
	}
	if s.inFlight.Load() != 0 || connOf(s, 6).readSize(64<<10) != 64<<10 {
		t.Errorf("after all receipts: messages of %d bytes are in flight, and %d bytes are read at once", s.inFlight.Load(), connOf(s, 6).readSize(64<<10))
	}
}

// A connection that the server does not read because of its messages in flight is not silent, however long the log needs.
func TestPausedSendersAreNotSilent(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	s.inFlight.Store(nodeInFlight)
	under := submitUntilPaused(c)
	s.now.Add(1000)
	if s.checkDeadlines(c, s.now.Load()); c.isEnding() {
		t.Fatal("a connection was closed that the server does not read")
	}
	answer(c, under)
	if s.checkDeadlines(c, s.now.Load()); c.isEnding() {
		t.Error("a connection was closed when it was read again")
	}
	s.now.Add(uint32(s.config.Grace.Seconds()))
	if s.checkDeadlines(c, s.now.Load()); !c.isEnding() {
		t.Error("a connection is open that sends nothing although it is read")
	}
}
