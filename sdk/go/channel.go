package rialto

import (
	"context"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Channel is what CreateChannel creates.
type Channel struct {
	Title string
	// Handle by which users find it; empty for none.
	Handle string
	// Open: everybody may follow it who has its handle or id. Otherwise only those with a join link.
	Open bool
}

// CreateChannel creates a channel with this user as its owner. To post is to Send to its Id. A second call with the same key returns the
// same channel, so that a retry is safe; an empty key is of no other call. If only the handle is refused, it returns the channel, which has
// none, and the error.
func (c *Client) CreateChannel(ctx context.Context, key string, of Channel) (*chatv1.Conversation, error) {
	policy := chatv1.JoinPolicy_JOIN_POLICY_INVITE
	if of.Open {
		policy = chatv1.JoinPolicy_JOIN_POLICY_OPEN
	}
	r, err := c.chat.CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: of.Title, Channel: true, JoinPolicy: policy, Key: key}))
	if err != nil {
		return nil, err
	}
	if of.Handle == "" {
		return r.Msg, nil
	}
	made := r.Msg
	if _, err := c.chat.UpdateGroup(ctx, connect.NewRequest(&chatv1.UpdateGroupRequest{Conversation: made.Id, Handle: &of.Handle})); err != nil {
		return made, err
	}
	made.Handle = strings.ToLower(strings.TrimPrefix(of.Handle, "@"))
	return made, nil
}

// JoinChannel follows a channel, by its handle ("@news"), its id, or the code of a join link.
func (c *Client) JoinChannel(ctx context.Context, address string) (*chatv1.Conversation, error) {
	joined, err := c.chat.Join(ctx, connect.NewRequest(joinRequest(address)))
	if err != nil {
		return nil, err
	}
	r, err := c.chat.GetConversation(ctx, connect.NewRequest(&chatv1.GetConversationRequest{Conversation: joined.Msg.Conversation}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

func joinRequest(address string) *chatv1.JoinRequest {
	address = strings.TrimSpace(address)
	if handle, ok := strings.CutPrefix(address, "@"); ok {
		return &chatv1.JoinRequest{Handle: handle}
	}
	if n, err := strconv.ParseUint(address, 10, 64); err == nil {
		return &chatv1.JoinRequest{Conversation: n}
	}
	return &chatv1.JoinRequest{Token: address}
}

// LeaveChannel ends to follow a channel, or to be a member of it. Its owner transfers or dissolves it first.
func (c *Client) LeaveChannel(ctx context.Context, conversation uint64) error {
	_, err := c.chat.Leave(ctx, connect.NewRequest(&chatv1.LeaveRequest{Conversation: conversation}))
	return err
}

// Followers calls f with each member and follower of a channel, until it returns false. Only admins may ask.
func (c *Client) Followers(ctx context.Context, conversation uint64, f func(*chatv1.Member) bool) error {
	for page := ""; ; {
		r, err := c.chat.ListMembers(ctx, connect.NewRequest(&chatv1.ListMembersRequest{Conversation: conversation, Limit: 200, Page: page}))
		if err != nil {
			return err
		}
		for _, m := range r.Msg.Members {
			if !f(m) {
				return nil
			}
		}
		if page = r.Msg.Next; page == "" {
			return nil
		}
	}
}
