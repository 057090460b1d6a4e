package rialto

import (
	"context"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

// onEvent applies a pushed event if it is the next one. If one before it is missing, it syncs.
func (c *Client) onEvent(ctx context.Context, e *chatv1.Event) error {
	c.mu.Lock()
	epoch, seq := c.state.Epoch, c.state.Seq
	c.mu.Unlock()
	switch {
	case e.Seq == 0: // of a large group: its place is that in the conversation
		return c.onLargeGroupMessage(ctx, e)
	case e.Epoch < epoch || e.Epoch == epoch && e.Seq <= seq:
		return nil
	case e.Epoch != epoch && seq != 0, e.Prev != seq:
		return c.catchUp(ctx)
	}
	c.apply(e, true)
	return nil
}

// apply hands an event to the handler, and moves the position.
func (c *Client) apply(e *chatv1.Event, live bool) {
	out := Event{Message: e.GetMessage(), Conversation: e.GetConversation(), Mark: e.GetMark(), Relation: e.GetRelation(), Profile: e.GetProfile(), JoinRequests: e.GetJoinRequests(),
		Follow: e.GetFollow(), Invitations: e.GetInvitations(), Folders: e.GetFolders(), Ticket: e.GetTicket(), Live: live}
	c.mu.Lock()
	again := out.Message != nil && out.Message.Seq <= c.state.Seen[out.Message.Conversation]
	own := out.Message.GetSender() == c.state.User && out.Message.GetDevice() == c.state.Device
	c.mu.Unlock()
	if own {
		c.lag.arrived(out.Message.GetClientSeq())
	}
	// After a crash of the server an entry may be in the stream twice. An event without a body is of a message that has expired, or
	// of a later version.
	if !again && e.Body != nil {
		c.config.Handler(out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := out.Message; m != nil && (e.Seq == 0 || m.Content.GetControl() != nil) || out.Follow.GetFollows() { // the user may have joined a large group
		c.noLarge = false
	}
	if m := out.Message; m != nil && !again {
		if c.state.Seen == nil {
			c.state.Seen = map[uint64]uint64{}
		}
		c.state.Seen[m.Conversation] = m.Seq
	}
	if e.Seq != 0 {
		c.state.Epoch, c.state.Seq = e.Epoch, e.Seq
	}
}

func (c *Client) isInNoLargeGroup() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noLarge
}

// saveState saves the state after a frame or a page of events: saving after each event would sync the disk each time.
func (c *Client) saveState() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.save()
}

// onHint pulls what was not pushed. A hint that names large groups says that nothing else is missing.
func (c *Client) onHint(ctx context.Context, h *gatewayv1.Hint) error {
	if len(h.Conversations) == 0 {
		return c.catchUp(ctx)
	}
	return c.retry(ctx, func() error { return c.catchUpLargeGroups(ctx, h.Conversations) })
}

// catchUp syncs while a connection is open.
func (c *Client) catchUp(ctx context.Context) error {
	return c.retry(ctx, func() error { return c.sync(ctx) })
}

// retry makes calls while a connection is open. They may reach another node, which may be stopping: it retries before it fails the
// connection.
func (c *Client) retry(ctx context.Context, pull func() error) error {
	for try := 0; ; try++ {
		err := pull()
		if err == nil || try == syncTries || connect.CodeOf(err) != connect.CodeUnavailable {
			return err
		}
		t := time.NewTimer(reconnect.Wait(try, 0, c.config.MaxWait, rand.Int64N))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// sync reads the stream from the position to its end.
func (c *Client) sync(ctx context.Context) error {
	for {
		page, err := c.chat.Sync(ctx, connect.NewRequest(&chatv1.SyncRequest{After: c.position(), Limit: syncPage}))
		if err != nil {
			return err
		}
		if err := c.takePage(ctx, page.Msg, false); err != nil || !page.Msg.More {
			return err
		}
	}
}

// position is how far this client has the stream.
func (c *Client) position() *chatv1.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &chatv1.Position{Epoch: c.state.Epoch, Seq: c.state.Seq}
}

// takePage applies a page, and reads the messages of large groups that it names.
func (c *Client) takePage(ctx context.Context, page *chatv1.SyncResponse, live bool) error {
	if page.Reset_ {
		c.reset()
	}
	for _, e := range page.Events {
		c.apply(e, live)
	}
	c.mu.Lock()
	c.state.Epoch, c.state.Seq = page.Next.GetEpoch(), page.Next.GetSeq()
	c.noLarge = !page.More && len(page.Large) == 0
	err := c.save()
	c.mu.Unlock()
	if err != nil || page.More {
		return err
	}
	return c.catchUpLargeGroups(ctx, page.Large)
}

// catchUpLargeGroups reads the messages of large groups that the handler has not seen.
func (c *Client) catchUpLargeGroups(ctx context.Context, tails []*chatv1.LargeTail) error {
	for _, t := range tails {
		c.mu.Lock()
		seen, known := c.state.Seen[t.Conversation]
		if !known { // messages from before this device are history, which the program reads itself
			if c.state.Seen == nil {
				c.state.Seen = map[uint64]uint64{}
			}
			c.state.Seen[t.Conversation] = t.LastSeq
			seen = t.LastSeq
		}
		c.mu.Unlock()
		if err := c.catchUpConversation(ctx, t.Conversation, seen, t.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// onLargeGroupMessage applies a message of a large group, after the missing ones before it.
func (c *Client) onLargeGroupMessage(ctx context.Context, e *chatv1.Event) error {
	m := e.GetMessage()
	if m == nil {
		return nil
	}
	c.mu.Lock()
	seen := c.state.Seen[m.Conversation]
	c.mu.Unlock()
	if seen != 0 && m.Seq > seen+1 {
		if err := c.catchUpConversation(ctx, m.Conversation, seen, m.Seq-1); err != nil {
			return err
		}
	}
	c.apply(e, true)
	return nil
}

func (c *Client) catchUpConversation(ctx context.Context, conversation, after, to uint64) error {
	for after < to {
		page, err := c.chat.History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: conversation, After: max(after, 1), Limit: 200}))
		if err != nil {
			return err
		}
		for _, m := range page.Msg.Messages {
			if m.Seq > to {
				return nil
			}
			c.apply(&chatv1.Event{Body: &chatv1.Event_Message{Message: m}}, false)
			after = m.Seq
		}
		if err := c.saveState(); err != nil || !page.Msg.More {
			return err
		}
	}
	return nil
}
