package natsbus

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// alive is the subject, below the prefix, on which each node on an external server announces itself and the nodes whose announcements it
// receives.
const alive = ".a"

const (
	// isolatedAfter is the number of tallies without a peer that receives this node, after which it tries another server.
	isolatedAfter = 6
	// retryServersAfter is the number of tallies after which all servers are tried again.
	retryServersAfter = 60
)

// isolationDetector detects isolation. An external server that is partitioned from its cluster continues to serve, so a node on it is
// connected but reaches no peer. Time is counted in tallies, so that a paused process does not consider its peers lost.
type isolationDetector struct {
	node string

	mu       sync.Mutex // guards the fields below
	now      int        // tallies so far
	heard    map[string]int
	wasHeard bool // some peer has received this node's announcements
	isolated int  // tallies since a peer received them, or since the last move
	moves    int  // to other servers since then
}

// hear handles a peer's announcement: its name, and the nodes that it receives.
func (c *isolationDetector) hear(data []byte) {
	names := strings.Split(string(data), "\n")
	if names[0] == c.node || names[0] == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard[names[0]] = c.now
	if slices.Contains(names[1:], c.node) {
		c.wasHeard, c.isolated, c.moves = true, 0, 0
	}
}

// tally returns this node's announcement, and whether to move to another of the servers.
func (c *isolationDetector) tally(connected bool, servers int) (announcement []byte, move, wasHeard bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	names := []string{c.node}
	for name, at := range c.heard {
		if c.now-at > isolatedAfter {
			delete(c.heard, name)
			continue
		}
		names = append(names, name)
	}
	if c.isolated++; !connected {
		c.isolated = 0
	}
	if c.isolated >= retryServersAfter {
		c.moves = 0
	}
	if c.isolated >= isolatedAfter && c.moves < servers-1 {
		move, c.isolated, c.moves = true, 0, c.moves+1
		clear(c.heard)
	}
	return []byte(strings.Join(names, "\n")), move, c.wasHeard
}

// detectIsolation announces this node, and moves it to another external server if it is isolated, until ctx ends.
func (b *Bus) detectIsolation(ctx context.Context) {
	c := &isolationDetector{node: b.deps.Node, heard: map[string]int{}}
	sub, err := b.conn.Subscribe(b.config.Prefix+alive, func(m *nats.Msg) { c.hear(m.Data) })
	if err != nil { // the connection is closed
		return
	}
	defer sub.Unsubscribe() //nolint:errcheck // it may be closed
	tick := time.NewTicker(b.config.Tally)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		connected := b.conn.IsConnected()
		announcement, move, wasHeard := c.tally(connected, len(b.conn.Servers()))
		if move {
			if wasHeard {
				b.deps.Logger.Warn("this node is isolated on its NATS server; trying another server", "server", b.conn.ConnectedServerName())
			}
			if err := b.conn.ForceReconnect(); err != nil {
				return // the connection is closed
			}
		} else if connected {
			_ = b.conn.Publish(b.config.Prefix+alive, announcement) // a lost announcement is repeated
		}
	}
}
