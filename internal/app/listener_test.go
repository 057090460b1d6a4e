package app

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// TestConnectionsLeaveFileDescriptorsToTheStores: the limit covers authenticated clients and the gateway's sockets. Each closed connection,
// and each that the gateway adopts, frees one slot.
func TestConnectionsLeaveFileDescriptorsToTheStores(t *testing.T) {
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var sockets atomic.Int64
	l := &countingListener{tcp, inputlimit.NewConnections(100, 100), false, &openConnections{most: 5, gateway: sockets.Load}, newAdmission(cpuTime, time.Now, newThreads(setThreads))}
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func(fits bool) net.Conn {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if !fits {
			if _, err := c.Read(make([]byte, 1)); err == nil { // it is closed
				t.Error("a connection above the limit was accepted")
			}
			return nil
		}
		here := <-accepted
		inputlimit.SlotOf(withConnection(t.Context(), here)).Release() // its client is known
		return here
	}
	dial(true)
	first := dial(true)
	sockets.Store(3)
	dial(false)
	sockets.Store(2)
	dial(true)
	dial(false)
	for range 2 {
		_ = first.Close()
	}
	dial(true)
	dial(false)
	if n, refused := l.open.here.Load(), l.open.refused.Load(); n != 3 || refused != 3 {
		t.Errorf("got %d open connections and %d refused, want 3 and 3", n, refused)
	}
}
