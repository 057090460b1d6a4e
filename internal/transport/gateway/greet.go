package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// register adds the connection to the hub and the directory, unless it is closed.
func (c *conn) register() bool {
	c.registering.Lock()
	defer c.registering.Unlock()
	if c.registration == deregistered || !c.server.hub.add(c, c.server.config.MaxConnectionsUser) {
		return false
	}
	c.registration = registered
	c.away = c.server.deps.Directory.Connected(c.caller)
	return true
}

// setAway records what the device says of itself.
func (c *conn) setAway(away bool) {
	c.registering.Lock()
	defer c.registering.Unlock()
	if c.registration == registered && c.away != away {
		c.away = away
		c.server.deps.Directory.SetAway(c.caller, away)
	}
}

// greet registers an authenticated connection, and sends Hello. The client gets events that arrive meanwhile by a sync to Hello's tail.
func (c *conn) greet(ctx context.Context) error {
	s := c.server
	if !c.register() {
		c.registering.Lock()
		defer c.registering.Unlock()
		if c.registration == deregistered {
			return nil
		}
		return errUserConnections
	}
	// From here on the user's deliveries reach this node; earlier ones are included in the readings below.
	s.deps.Directory.Announced(ctx, c.caller.User)
	// If the session ended before this connection was registered, its end did not close the connection.
	if err := s.deps.Accounts.Live(ctx, c.caller); err != nil {
		return err
	}
	large, err := s.deps.Inbox.LargeGroups(ctx, []id.User{c.caller.User})
	if err != nil {
		return err
	}
	if err := c.followAll(ctx, large[0]); err != nil {
		return err
	}
	var counter uint64
	if !c.receiver.waits() { // one that waits gets no Hello
		if counter, err = s.deps.Chat.HighestCounter(ctx, c.caller); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		c.mu.Lock()
		c.needsHint = false
		c.mu.Unlock()
		tails, err := s.deps.Inbox.Tails(ctx, []id.User{c.caller.User})
		if err != nil {
			return err
		}
		tail := tails[0]
		op, b := c.encode(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{User: uint64(c.caller.User), Device: uint64(c.caller.Device), Session: uint64(c.caller.Session),
			Tail: positionOf(tail), ClientSeq: counter, TimeMs: s.deps.Clock.Now().UnixMilli(), HeartbeatMs: uint32(s.config.Heartbeat.Milliseconds()), LongestHeartbeatMs: uint32(s.config.LongestHeartbeat.Milliseconds()), Node: s.deps.Node, MapUrl: s.deps.MapURL}})
		c.mu.Lock()
		if c.needsHint && try < 3 {
			c.mu.Unlock()
			continue
		}
		if c.advance(stateReady) {
			c.receiver.greeted(tail)
			c.appendFrame(op, b)
			c.leftWhileGreeted, c.newestPushed = nil, max(c.newestPushed, tail)
			c.queueWrite()
		}
		c.mu.Unlock()
		return nil
	}
}

// followTime bounds how long a connection waits for its large conversations.
const followTime = 3 * time.Second

// followAll has the connection follow its user's large conversations. Messages from here on are pushed; those before are in the sync that
// follows Hello.
func (c *conn) followAll(ctx context.Context, large []id.Conversation) error {
	s := c.server
	var fresh []id.Conversation
	for _, l := range large {
		if s.hub.follow(c, l, 0) {
			fresh = append(fresh, l)
		}
	}
	if len(large) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for _, l := range large {
		if !s.deps.Directory.Followed(within, l) { // not registered yet: set no baseline, so that the reconciler assumes a loss
			fresh = slices.DeleteFunc(fresh, func(f id.Conversation) bool { return f == l })
		}
	}
	tails, err := s.deps.Inbox.LargeTails(ctx, large)
	if err != nil {
		return err
	}
	for i, l := range large {
		c.limitPushes(l, tails[i])
		if slices.Contains(fresh, l) {
			s.hub.setBaseline(l, tails[i])
		}
	}
	return nil
}
