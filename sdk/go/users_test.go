package rialto_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// GetUsers knows user17 as 17, and so on, and answers in no order.
func (s *server) GetUsers(_ context.Context, r *connect.Request[accountv1.GetUsersRequest]) (*connect.Response[accountv1.GetUsersResponse], error) {
	if len(r.Msg.Handles) > 200 {
		return nil, connect.NewError(connect.CodeInvalidArgument, nil)
	}
	out := &accountv1.GetUsersResponse{}
	for _, h := range slices.Backward(r.Msg.Handles) {
		h = strings.ToLower(strings.TrimPrefix(h, "@"))
		if n, err := strconv.ParseUint(strings.TrimPrefix(h, "user"), 10, 64); err == nil {
			out.Users = append(out.Users, &accountv1.User{Id: n, Handle: h})
		}
	}
	return connect.NewResponse(out), nil
}

func (s *server) OpenDirect(_ context.Context, r *connect.Request[chatv1.OpenDirectRequest]) (*connect.Response[chatv1.Conversation], error) {
	return connect.NewResponse(&chatv1.Conversation{Id: 1000 + r.Msg.User, Peer: r.Msg.User}), nil
}

func (s *server) CreateGroup(_ context.Context, r *connect.Request[chatv1.CreateGroupRequest]) (*connect.Response[chatv1.Conversation], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = append(s.groups, r.Msg)
	return connect.NewResponse(&chatv1.Conversation{Id: 9, Title: r.Msg.Title}), nil
}

func TestConversationsAreOpenedByHandle(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	chat, err := c.OpenDirect(t.Context(), "@User17")
	if err != nil || chat.Id != 1017 {
		t.Errorf("the conversation is %v, %v", chat, err)
	}
	if _, err := c.OpenDirect(t.Context(), "nobody"); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "nobody has the handle nobody") {
		t.Errorf("a handle that nobody has: %v", err)
	}
	var handles []string
	var want []uint64
	for n := range uint64(450) { // in several calls
		handles, want = append(handles, fmt.Sprint("user", n)), append(want, n)
	}
	if _, err := c.CreateGroup(t.Context(), "lunch-1", "Lunch", handles...); err != nil {
		t.Fatal(err)
	}
	if g := s.groups[0]; g.Key != "lunch-1" || g.Title != "Lunch" || !slices.Equal(g.Members, want) {
		t.Errorf("the group is %v", g)
	}
	if _, err := c.CreateGroup(t.Context(), "lunch-2", "Lunch", "user1", "nobody"); connect.CodeOf(err) != connect.CodeNotFound || len(s.groups) != 1 {
		t.Errorf("a group with nobody: %v, %d groups", err, len(s.groups))
	}
}
