package rialto

import (
	"context"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// StartThread returns the thread under the message at seq, which is made at the first call; this user follows it then. A thread is a conversation: to reply
// in it is to Send to its Id, and Chat().History reads it. The server refuses it with no_threads where there are none, as in channels.
func (c *Client) StartThread(ctx context.Context, conversation, seq uint64) (*chatv1.Conversation, error) {
	r, err := c.chat.StartThread(ctx, connect.NewRequest(&chatv1.StartThreadRequest{Conversation: conversation, Seq: seq}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// FollowThread makes this user follow a thread, whose replies are then events, or ends it.
func (c *Client) FollowThread(ctx context.Context, thread uint64, follow bool) (err error) {
	if follow {
		_, err = c.chat.Join(ctx, connect.NewRequest(&chatv1.JoinRequest{Conversation: thread}))
	} else {
		_, err = c.chat.Leave(ctx, connect.NewRequest(&chatv1.LeaveRequest{Conversation: thread}))
	}
	return err
}

// Threads calls f with each thread that this user follows, the last active first, until it returns false.
func (c *Client) Threads(ctx context.Context, f func(*chatv1.Conversation) bool) error {
	for page := ""; ; {
		r, err := c.chat.ListThreads(ctx, connect.NewRequest(&chatv1.ListThreadsRequest{Limit: 200, Page: page}))
		if err != nil {
			return err
		}
		for _, thread := range r.Msg.Threads {
			if !f(thread) {
				return nil
			}
		}
		if page = r.Msg.Next; page == "" {
			return nil
		}
	}
}
