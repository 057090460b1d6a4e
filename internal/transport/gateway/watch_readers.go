package gateway

import (
	"context"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// watchReaders replaces the messages whose new readers are pushed to the connection. They end with it.
func (c *conn) watchReaders(request uint64, messages []*gatewayv1.WatchedMessage) {
	c.mu.Lock()
	c.readersTurn++
	turn := c.readersTurn
	c.mu.Unlock()
	c.call("watch_readers", request, 0, func(ctx context.Context) error {
		if err := c.allowCall(len(messages)); err != nil {
			return err
		}
		if err := c.server.deps.Inbox.WatchReaders(ctx, c.caller.User, c, turn, messages, c.pushReaders); err != nil {
			return err
		}
		answer := &gatewayv1.ServerFrame{Request: request}
		for _, m := range messages {
			answer.Readers = append(answer.Readers, &gatewayv1.ReadersUpdate{Conversation: m.Conversation, Seq: m.Seq})
		}
		c.sendFrame(answer)
		return nil
	})
}

// pushReaders pushes new readers of a watched message. A slow consumer gets none.
func (c *conn) pushReaders(update *gatewayv1.ReadersUpdate) {
	c.mu.Lock()
	slow := c.pending() > hintAbove
	c.mu.Unlock()
	if !slow {
		c.sendFrame(&gatewayv1.ServerFrame{Readers: []*gatewayv1.ReadersUpdate{update}})
		c.server.requestFlush(c)
	}
}
