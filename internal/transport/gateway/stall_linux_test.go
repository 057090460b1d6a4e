package gateway

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// adopted returns a connection over TCP on an event loop that does not run, and its client.
func adopted(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	accepted, client := tcpPair(t)()
	t.Cleanup(func() { client.Close() })
	c, _ := bench(t)
	loop := c.server.loops[0]
	c.transport = loop
	if err := loop.adopt(c, accepted, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loop.remove(c) })
	return c, client
}

// events returns the events for which the loop would be woken now.
func (l *loop) events(t *testing.T) uint32 {
	t.Helper()
	list := make([]unix.EpollEvent, 1)
	n, err := unix.EpollWait(l.fd, list, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return 0
	}
	return list[0].Events
}

// A loop waits for a socket to be writable only if it is full. Otherwise it would be woken again and again. Reading may be paused while
// another goroutine writes: before, the loop was woken by the writable socket until reading was resumed.
func TestTheLoopWaitsForFullSocketsOnly(t *testing.T) {
	c, client := adopted(t)
	loop := c.server.loops[0]
	c.unsent, c.writes, c.throttledUntil = []byte("abc"), writeActive, c.server.now.Load()+10 // another goroutine writes
	c.pauseReading()
	c.unsent, c.writes = nil, writeIdle // it has written all
	loop.afterWrite(c)
	if events := loop.events(t); events != 0 || c.reads != readPaused {
		t.Errorf("the loop is woken by %x", events)
	}

	c.throttledUntil = 0
	c.appendFrame(opBinary, make([]byte, 32<<20)) // more than the network's buffers
	loop.flush(c)
	if c.writes != writeBlocked {
		t.Fatal("the socket accepts all bytes")
	}
	if c.watching&unix.EPOLLOUT == 0 {
		t.Fatal("the loop does not wait until the socket is writable")
	}
	c.pauseReading()
	c.reads = readOn
	loop.setReading(c, true)
	if err := client.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 1<<20); loop.events(t)&unix.EPOLLOUT == 0; { // it is woken when the client has read
		if _, err := client.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
}

// A connection whose client reads no pending output is closed; one whose client reads a little is not.
func TestStalledConnectionsAreClosed(t *testing.T) {
	c, client := adopted(t)
	s := c.server
	second := func(n uint32) (next uint32) {
		s.now.Add(n)
		c.lastInput.Store(s.now.Load()) // as if by heartbeats
		return s.checkDeadlines(c, s.now.Load())
	}
	c.appendFrame(opBinary, make([]byte, 32<<20)) // more than the network's buffers
	s.loops[0].flush(c)
	if c.stalledSince == 0 {
		t.Fatal("the socket accepts all bytes")
	}
	if second(stallTime - 1); c.isEnding() {
		t.Error("closed before the deadline")
	}
	for before := len(c.unsent); len(c.unsent) == before; { // the client reads some bytes
		if _, err := client.Read(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		s.loops[0].flush(c)
	}
	if second(1); c.isEnding() {
		t.Error("closed although the client read some bytes")
	}
	if second(stallTime); !c.isEnding() || s.stats.Slow.Load() != 1 {
		t.Error("still open after the deadline")
	}
	if reason := "the client reads nothing"; !bytes.HasSuffix(c.out.b, append(binary.BigEndian.AppendUint16(appendHeader(nil, opClose, 2+len(reason), false), 4008), reason...)) {
		t.Errorf("the output does not end with a close frame of 4008: %q", c.out.b)
	}
	if list := sent(t, c); len(list) != 1 || list[0].GetBye().GetCode() != 4008 {
		t.Errorf("after the pending output comes %v, want a bye with the code 4008", list)
	}
	if next := s.checkDeadlines(c, s.now.Load()); next == 0 || c.state < stateAborted {
		t.Error("the connection is not hung up")
	}
}

// While many messages are in flight, the loop reads little of a socket at once.
func TestTheLoopReadsLittleUnderLoad(t *testing.T) {
	c, client := adopted(t)
	s := c.server
	ping := masked(0x89, "")
	if _, err := client.Write(bytes.Repeat(ping, 2*leastRead/len(ping))); err != nil {
		t.Fatal(err)
	}
	s.inFlight.Store(nodeInFlight)
	buf := make([]byte, 64<<10)
	for c.server.stats.BytesIn.Load() == 0 { // until they have come
		s.loops[0].serve(c, unix.EPOLLIN, buf)
	}
	if n := s.stats.BytesIn.Load(); n > leastRead {
		t.Errorf("%d bytes were read at once, more than %d", n, leastRead)
	}
}
