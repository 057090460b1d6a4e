package gateway

import (
	"context"
	"slices"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/id"
)

// enter makes the connection known to the rooms, unless it is over.
func (c *conn) enter() bool {
	c.door.Lock()
	defer c.door.Unlock()
	if c.outside {
		return false
	}
	c.inside = true
	c.server.hub.add(c)
	c.server.deps.Presence.Connected(c.caller)
	return true
}

// greet makes an authenticated connection known, and says Hello. Events that come meanwhile wait for the sync that Hello's
// tail leads to.
func (c *conn) greet(ctx context.Context) error {
	s := c.server
	if !c.enter() {
		return nil
	}
	// From here on what is delivered to the user comes here: what came before is in what is read below.
	s.deps.Presence.Announced(ctx, c.caller.User)
	// A session that ended before this connection was known has not closed it.
	if err := s.deps.Accounts.Live(ctx, c.caller); err != nil {
		return err
	}
	large, err := s.deps.Inbox.Large(ctx, []id.User{c.caller.User})
	if err != nil {
		return err
	}
	if err := c.followAll(ctx, large[0]); err != nil {
		return err
	}
	counter, err := s.deps.Chat.HighestCounter(ctx, c.caller)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		c.mu.Lock()
		c.missed = false
		c.mu.Unlock()
		tails, err := s.deps.Inbox.Tails(ctx, []id.User{c.caller.User})
		if err != nil {
			return err
		}
		tail := tails[0]
		op, b := c.encode(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{User: uint64(c.caller.User), Device: uint64(c.caller.Device), Session: uint64(c.caller.Session),
			Tail: positionOf(tail), ClientSeq: counter, TimeMs: s.deps.Clock.Now().UnixMilli(), HeartbeatMs: uint32(s.config.Heartbeat.Milliseconds()), Node: s.deps.Node}})
		c.mu.Lock()
		if c.missed && try < 3 {
			c.mu.Unlock()
			continue
		}
		if !c.closing {
			c.alone(op, b)
			c.ready, c.left, c.at = true, nil, max(c.at, tail)
			c.hint = c.missed
			c.queue()
		}
		c.mu.Unlock()
		return nil
	}
}

// followTime bounds how long a connection waits for its large conversations.
const followTime = 3 * time.Second

// followAll has the connection follow its user's large conversations. Their messages come from here on; those before are in the
// sync that follows Hello.
func (c *conn) followAll(ctx context.Context, large []id.Conversation) error {
	s := c.server
	var fresh []id.Conversation
	for _, l := range large {
		if s.hub.follow(c, l, 0) {
			fresh = append(fresh, l)
		}
	}
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for _, l := range large {
		if !s.deps.Presence.Followed(within, l) { // of what is not known to come yet, the check takes all for missed
			fresh = slices.DeleteFunc(fresh, func(f id.Conversation) bool { return f == l })
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	tails, err := s.deps.Inbox.LargeTails(ctx, fresh)
	if err != nil {
		return err
	}
	for i, l := range fresh {
		s.hub.known(l, tails[i])
	}
	return nil
}
