package gateway

import "context"

// running are a connection's calls that are under way, and its greeting. An idle connection has none, and pays for none.
type running struct {
	ctx   context.Context // ends with the connection, or the server
	end   context.CancelFunc
	calls int
}

// enterCall counts a call in. What it gives ends with the connection: nobody is left to be answered. It is nil where the connection is
// over already, or has as many calls as it may.
func (c *conn) enterCall() (ctx context.Context, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.gone:
		return nil, false
	case c.running == nil:
		r := &running{}
		r.ctx, r.end = context.WithCancel(c.server.ctx)
		c.running = r
	case c.running.calls >= maxCalls:
		return nil, true
	}
	c.running.calls++
	return c.running.ctx, false
}

// leaveCall counts a call out.
func (c *conn) leaveCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.calls--; c.running.calls == 0 {
		c.running.end()
		c.running = nil
	}
}
