package natsbus

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// alive is the subject, below the prefix, on which each node on an external server says that it is there, and whom it hears.
const alive = ".a"

const (
	// lonelyAfter so many tallies in which nobody was heard who hears this node, it tries another server.
	lonelyAfter = 6
	// lonelyAgain so many after all have been tried, they are tried again.
	lonelyAgain = 60
)

// company is who is on the bus with this node. One of several external servers that is cut off from its like goes on serving: a node on
// it is connected, and alone. Its time is counted in tallies, so that a process that was held finds nobody missing.
type company struct {
	node string

	mu    sync.Mutex // guards all below
	now   int        // tallies so far
	heard map[string]int
	ever  bool // somebody was heard who hears this node
	alone int  // tallies since the last of that, or the last move
	moves int  // to other servers since then
}

// hear takes what a node says: its name, and those that it hears.
func (c *company) hear(data []byte) {
	names := strings.Split(string(data), "\n")
	if names[0] == c.node || names[0] == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard[names[0]] = c.now
	if slices.Contains(names[1:], c.node) {
		c.ever, c.alone, c.moves = true, 0, 0
	}
}

// tally gives what this node is to say, and whether it is to go to another of so many servers.
func (c *company) tally(connected bool, servers int) (says []byte, move, ever bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	names := []string{c.node}
	for name, at := range c.heard {
		if c.now-at > lonelyAfter {
			delete(c.heard, name)
			continue
		}
		names = append(names, name)
	}
	if c.alone++; !connected {
		c.alone = 0
	}
	if c.alone >= lonelyAgain {
		c.moves = 0
	}
	if c.alone >= lonelyAfter && c.moves < servers-1 {
		move, c.alone, c.moves = true, 0, c.moves+1
		clear(c.heard)
	}
	return []byte(strings.Join(names, "\n")), move, c.ever
}

// keepCompany says that this node is there, and has it go to another of the external servers where it is alone on its own, until ctx ends.
func (b *Bus) keepCompany(ctx context.Context) {
	c := &company{node: b.deps.Node, heard: map[string]int{}}
	sub, err := b.conn.Subscribe(b.config.Prefix+alive, func(m *nats.Msg) { c.hear(m.Data) })
	if err != nil { // it is closed
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
		says, move, ever := c.tally(connected, len(b.conn.Servers()))
		if move {
			if ever {
				b.deps.Logger.Warn("the bus's server carries nothing between this node and others; trying another server", "server", b.conn.ConnectedServerName())
			}
			if err := b.conn.ForceReconnect(); err != nil {
				return // it is closed
			}
		} else if connected {
			_ = b.conn.Publish(b.config.Prefix+alive, says) // the next one says the same
		}
	}
}
