package gateway

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// activeCalls are the calls of a connection in progress, and its greeting. An idle connection has none.
type activeCalls struct {
	ctx   context.Context // ends with the connection, or the server
	end   context.CancelFunc
	count int
}

// beginCall counts a call in. Its context ends with the connection. It is nil if the connection is closed, or has maxCalls already: then
// full is true.
func (c *conn) beginCall() (ctx context.Context, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == stateClosed:
		return nil, false
	case c.activeCalls == nil:
		r := &activeCalls{}
		r.ctx, r.end = context.WithCancel(ratelimit.WithNetwork(c.server.ctx, c.network))
		c.activeCalls = r
	case c.activeCalls.count >= maxCalls:
		return nil, true
	}
	c.activeCalls.count++
	return c.activeCalls.ctx, false
}

// endCall counts a call out.
func (c *conn) endCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.activeCalls.count--; c.activeCalls.count == 0 {
		c.activeCalls.end()
		c.activeCalls = nil
	}
}
