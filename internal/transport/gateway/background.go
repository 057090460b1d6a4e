package gateway

import "time"

// A client in the background sends pings less often, so that its radio can sleep. It measures how long its network path keeps an idle connection open,
// and each ping announces the latest time of the next one.

// allowSilence accepts the silence that a ping announces, at most LongestHeartbeat, in addition to the grace period.
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
