package app

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// countingListener counts connections. It closes new ones if too many are unauthenticated, or if the stores would have too few file
// descriptors left.
type countingListener struct {
	net.Listener
	unauthenticated *inputlimit.Connections
	proxied         bool
	open            *openConnections
	admission       *admission
}

// openConnections counts the connections of the listener. The gateway counts those that it has adopted.
type openConnections struct {
	most    int64        // with the gateway's; 0: any number
	gateway func() int64 // may be nil: none
	here    atomic.Int64
	refused atomic.Int64
}

// enter counts a connection; it is false if there are too many.
func (o *openConnections) enter() bool {
	n := o.here.Add(1)
	if o.gateway != nil {
		n += o.gateway()
	}
	if o.most == 0 || n <= o.most {
		return true
	}
	o.here.Add(-1)
	o.refused.Add(1)
	return false
}

// maxOpenConnections returns the limit of open connections: four fifths of the files that the process may have open. The rest is for the stores
// and for files.
func maxOpenConnections() int64 { return inputlimit.OpenFiles() / 5 * 4 }

// countedConn is a connection of a countingListener.
type countedConn struct {
	*net.TCPConn
	slot *inputlimit.Slot
	open *openConnections
	once sync.Once
}

// Accept returns the next connection within the limits, once it is admitted.
func (l *countingListener) Accept() (net.Conn, error) {
	for {
		l.admission.wait()
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, nil
		}
		if !l.open.enter() {
			_ = tcp.Close() // the error cannot be reported to anyone
			continue
		}
		slot, ok := l.unauthenticated.Acquire(l.network(tcp))
		if !ok {
			l.open.here.Add(-1)
			_ = tcp.Close() // as above
			continue
		}
		return &countedConn{TCPConn: tcp, slot: slot, open: l.open}, nil
	}
}

// network returns where a connection comes from. A proxy's connections have no network, because there are no headers yet: its clients are counted by
// their requests.
func (l *countingListener) network(c net.Conn) netip.Prefix {
	return ratelimit.Network(c.RemoteAddr().String(), nil, l.proxied)
}

// Close closes the connection, and counts it no more.
func (c *countedConn) Close() error {
	c.slot.Closed()
	c.once.Do(func() { c.open.here.Add(-1) })
	return c.TCPConn.Close()
}

// TCP returns the connection itself, for an event loop.
func (c *countedConn) TCP() *net.TCPConn { return c.TCPConn }

// withConnection is an http.Server's ConnContext: requests get the slot of their connection, and the connection itself.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	if own, ok := c.(*countedConn); ok {
		return outputlimit.WithConnection(inputlimit.WithSlot(ctx, own.slot), own)
	}
	return ctx
}
