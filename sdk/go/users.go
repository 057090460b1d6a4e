package rialto

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxUsersInCall is the server's limit.
const maxUsersInCall = 200

// FindUsers returns the users with these handles, in their order. If one does not exist, the error names it, and its code is
// connect.CodeNotFound.
func (c *Client) FindUsers(ctx context.Context, handles ...string) ([]*accountv1.User, error) {
	users := make([]*accountv1.User, 0, len(handles))
	for len(handles) > 0 {
		page := handles[:min(len(handles), maxUsersInCall)]
		r, err := c.account.GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Handles: page}))
		if err != nil {
			return nil, err
		}
		byHandle := map[string]*accountv1.User{}
		for _, u := range r.Msg.Users {
			byHandle[u.Handle] = u
		}
		for _, h := range page {
			u := byHandle[strings.ToLower(strings.TrimPrefix(strings.TrimSpace(h), "@"))] // as the server reads it
			if u == nil {
				return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("rialto: nobody has the handle %s", h))
			}
			users = append(users, u)
		}
		handles = handles[len(page):]
	}
	return users, nil
}

// OpenDirect returns the one-to-one conversation with the user who has a handle, and creates it if there is none. Send to its Id.
func (c *Client) OpenDirect(ctx context.Context, handle string) (*chatv1.Conversation, error) {
	users, err := c.FindUsers(ctx, handle)
	if err != nil {
		return nil, err
	}
	r, err := c.chat.OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: users[0].Id}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// CreateGroup creates a group of this user and those who have the handles. A second call with the same key returns the same group, so
// that a retry is safe; derive the key from your own data.
func (c *Client) CreateGroup(ctx context.Context, key, title string, handles ...string) (*chatv1.Conversation, error) {
	users, err := c.FindUsers(ctx, handles...)
	if err != nil {
		return nil, err
	}
	members := make([]uint64, len(users))
	for i, u := range users {
		members[i] = u.Id
	}
	r, err := c.chat.CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: title, Members: members, Key: key}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}
