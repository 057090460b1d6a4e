package gateway

import (
	"context"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// watchPosts replaces the posts whose changes are pushed to the connection. They end with it.
func (c *conn) watchPosts(request uint64, posts []*gatewayv1.WatchedPost) {
	c.mu.Lock()
	c.postsTurn++
	turn := c.postsTurn
	c.mu.Unlock()
	c.call("watch_posts", request, 0, func(ctx context.Context) error {
		if err := c.allowCall(1 + len(posts)/itemsPerSmallFrame); err != nil {
			return err
		}
		changed, err := c.server.deps.Posts.WatchPosts(ctx, c.caller.User, c, turn, posts, c.pushPosts)
		if err != nil {
			return err
		}
		c.sendFrame(&gatewayv1.ServerFrame{Request: request, ChangedPosts: changed})
		return nil
	})
}

// pushPosts pushes posts that have changed, to slow consumers as well: a post that was hidden must leave their screens.
func (c *conn) pushPosts(posts []uint64) {
	c.sendFrame(&gatewayv1.ServerFrame{ChangedPosts: posts})
	c.server.requestFlush(c)
}
