package gateway

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/ratelimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A connection is read as fast as its limits allow. Received frames are handled in order. Beyond a limit, reading stops until the limit
// allows more, so that no message is refused and the order is kept.

const (
	// maxSmallFrames is how many frames without messages a connection may send in a second: acknowledgements, marks, typing, calls.
	maxSmallFrames = 1000
	// smallFramesAtOnce is how many of them a connection counts before it charges its user and address.
	smallFramesAtOnce = 64
	// itemsPerSmallFrame marks, or watched users, messages or posts, count as much as a frame.
	itemsPerSmallFrame = 64
)

// countFrame counts a frame's size and contents against the limits. It fails if a client floods the server with empty frames.
func (c *conn) countFrame(f *gatewayv1.ClientFrame, bytes int) error {
	nothing := f.Ack == nil && len(f.Marks) == 0 && f.Typing == 0 && f.Call == nil && f.Sync == nil && f.Watch == nil && f.WatchReaders == nil && f.WatchPosts == nil && f.Activity == 0 &&
		f.EnterRoom == 0 && f.LeaveRoom == 0
	if len(f.Sends) == 0 && nothing {
		return c.countEmptyFrame()
	}
	c.chargeFrame(len(f.Sends), len(f.Marks)+len(f.Watch.GetUsers())+len(f.WatchReaders.GetMessages())+len(f.WatchPosts.GetPosts()), bytes)
	return nil
}

// chargeFrame throttles the connection if a frame is beyond its limits. items are the marks, and the watched users, messages and posts, in it.
// Messages that are sent cost by their bytes as well, also those that are refused or were stored before.
func (c *conn) chargeFrame(sends, items, bytes int) {
	small := uint32(items / itemsPerSmallFrame)
	if sends == 0 {
		small++
	} else if wait := c.server.deps.Limits.Charge(ratelimit.Send, uint64(c.caller.User), c.network, ratelimit.Messages(sends, bytes)); wait > 0 {
		c.throttle(seconds(wait))
	}
	if small == 0 {
		return
	}
	c.chargeSmallFrames(small)
	now := c.server.now.Load()
	if since := now - c.in.smallFramesAt; since != 0 {
		c.in.smallFrames -= min(c.in.smallFrames, min(since, 1<<20)*maxSmallFrames)
		c.in.smallFramesAt = now
	}
	if c.in.smallFrames += small; c.in.smallFrames > maxSmallFrames {
		c.throttle((c.in.smallFrames - 1) / maxSmallFrames)
	}
}

// chargeSmallFrames counts frames without messages, empty ones too, for all connections of the user and of the address, and throttles this
// connection if they send more than is allowed.
func (c *conn) chargeSmallFrames(n uint32) {
	if c.in.uncharged += n; c.in.uncharged < smallFramesAtOnce {
		return
	}
	n, c.in.uncharged = c.in.uncharged, 0
	if wait := c.server.deps.Limits.Charge(ratelimit.Frame, uint64(c.caller.User), c.network, int(n)); wait > 0 {
		c.throttle(seconds(wait))
	}
}

// countBytes counts the bytes of frames that came compressed, after inflation, and of frames without messages as calls. It throttles the
// connection if its user sends more than is allowed. A compressed frame costs its decoding, though a thousandth of it may go over the wire.
func (c *conn) countBytes(bytes int) {
	c.in.charged += bytes
	n := c.in.charged / ratelimit.BytesPerCall
	c.in.charged %= ratelimit.BytesPerCall
	if n == 0 {
		return
	}
	if wait := c.server.deps.Limits.Charge(ratelimit.Call, uint64(c.caller.User), c.network, n); wait > 0 {
		c.throttle(seconds(wait))
	}
}

// allowCall counts a sync, or a watch of so many users, as calls.
func (c *conn) allowCall(users int) error {
	return c.server.deps.Limits.Allow(ratelimit.Call, uint64(c.caller.User), c.network, ratelimit.Calls(users, 0))
}

func seconds(d time.Duration) uint32 { return uint32((d + time.Second - 1) / time.Second) }

// throttle stops reading for so many seconds.
func (c *conn) throttle(seconds uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		return
	}
	if c.throttledUntil == 0 {
		c.server.stats.Throttled.Add(1)
		c.server.throttled.add(c)
	}
	c.throttledUntil = max(c.throttledUntil, c.server.now.Load()+seconds)
	c.pauseReading()
}

// resumeThrottled resumes reading from connections whose limits allow it again.
func (s *Server) resumeThrottled(now uint32) {
	s.throttled.visit(func(c *conn) (keep bool) { return c.resumeIfDue(now) })
}

// resumeIfDue resumes reading, unless the connection stays throttled: the user's other connections may have used up the limit too.
func (c *conn) resumeIfDue(now uint32) (still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		c.throttledUntil = 0
		return false
	}
	if now < c.throttledUntil {
		return true
	}
	for _, r := range []ratelimit.Route{ratelimit.Send, ratelimit.Frame, ratelimit.Call} {
		if wait := c.server.deps.Limits.Charge(r, uint64(c.caller.User), c.network, 0); wait > 0 {
			c.throttledUntil = now + seconds(wait)
			return true
		}
	}
	c.throttledUntil = 0
	c.lastInput.Store(now) // nothing was read: the time of silence begins again
	if c.reads == readBacklogged {
		c.reads = readPaused
		c.server.serving.Go(c.handleUnprocessed)
		return false
	}
	c.resumeReading()
	return false
}

// handleUnprocessed handles the messages that were complete when the connection was throttled, and resumes reading.
func (c *conn) handleUnprocessed() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.resumeLocked()
}
