package gateway

import "time"

// A client in the background sends pings less often, so that its radio sleeps. It finds out by itself how long its path keeps an idle connection,
// and each ping says when the next one comes at the latest.

// allowSilence accepts as much silence as a ping announces, at most LongestHeartbeat, beside the grace.
func (c *conn) allowSilence(nextMs uint32) {
	next := min(time.Duration(nextMs)*time.Millisecond, c.server.config.LongestHeartbeat)
	if next <= c.server.config.Heartbeat {
		next = 0
	}
	seconds := uint32((next + time.Second - 1) / time.Second)
	if before := c.silence.Swap(seconds); (before > 0) == (seconds > 0) {
		return
	}
	if err := c.setKeepAlive(seconds == 0); err != nil {
		c.server.deps.Logger.Debug("a connection's keepalive probes could not be changed; its pings continue as announced", "user", c.caller.User, "error", err)
	}
}
