package rialto

import (
	"context"
	"net/url"
	"path"
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

// PreviewJoin returns what an address leads to before one joins it: title, announcement, number of members, and whether this user is one. The address is that
// of JoinChannel, of a channel or a group. Show it before you join: anybody can send a link.
func (c *Client) PreviewJoin(ctx context.Context, address string) (*chatv1.PreviewJoinLinkResponse, error) {
	at := joinRequest(address)
	return unary(ctx, c.chat.PreviewJoinLink, &chatv1.PreviewJoinLinkRequest{Token: at.Token, Conversation: at.Conversation, Handle: at.Handle})
}

// Join joins a group or follows a channel, by an address as of JoinChannel. In a group that approves its members, Joined is false: its admins are asked, with a
// message of at most 500 characters.
func (c *Client) Join(ctx context.Context, address, message string) (*chatv1.JoinResponse, error) {
	r := joinRequest(address)
	r.Message = message
	return unary(ctx, c.chat.Join, r)
}

// JoinChannel follows a channel, by its handle ("@news"), its id, the code of a join link, or a link of the web app.
func (c *Client) JoinChannel(ctx context.Context, address string) (*chatv1.Conversation, error) {
	joined, err := c.Join(ctx, address, "")
	if err != nil {
		return nil, err
	}
	return unary(ctx, c.chat.GetConversation, &chatv1.GetConversationRequest{Conversation: joined.Conversation})
}

// IsJoinCode reports whether an address, as of JoinChannel, is the code of a join link, or such a link. Whoever has a code may join by it; with other addresses, an admin may have to approve.
func IsJoinCode(address string) bool { return joinRequest(address).Token != "" }

// joinRequest reads a handle, an id, a code, or a link of the web app: …/join/CODE, …/g/ID or …/c/@handle.
func joinRequest(address string) *chatv1.JoinRequest {
	address = strings.TrimSpace(address)
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		dir, last := path.Split(u.Path)
		if kind := path.Base(dir); kind == "join" || kind == "g" || kind == "c" {
			if kind == "join" {
				return &chatv1.JoinRequest{Token: last}
			}
			address = last
		}
	}
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
