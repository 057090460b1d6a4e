package rialto_test

import (
	"context"
	"slices"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (s *server) UpdateGroup(_ context.Context, r *connect.Request[chatv1.UpdateGroupRequest]) (*connect.Response[chatv1.Change], error) {
	if r.Msg.GetHandle() == "@taken" {
		return nil, connect.NewError(connect.CodeAlreadyExists, nil)
	}
	return connect.NewResponse(&chatv1.Change{}), nil
}

// Join leads a handle to 31, a code to 32, and an id to itself.
func (s *server) Join(_ context.Context, r *connect.Request[chatv1.JoinRequest]) (*connect.Response[chatv1.JoinResponse], error) {
	to := r.Msg.Conversation
	switch {
	case r.Msg.Handle == "news":
		to = 31
	case r.Msg.Token == "code":
		to = 32
	}
	return connect.NewResponse(&chatv1.JoinResponse{Joined: true, Conversation: to}), nil
}

func (s *server) PreviewJoinLink(ctx context.Context, r *connect.Request[chatv1.PreviewJoinLinkRequest]) (*connect.Response[chatv1.PreviewJoinLinkResponse], error) {
	joined, err := s.Join(ctx, connect.NewRequest(&chatv1.JoinRequest{Token: r.Msg.Token, Conversation: r.Msg.Conversation, Handle: r.Msg.Handle}))
	return connect.NewResponse(&chatv1.PreviewJoinLinkResponse{Conversation: joined.Msg.Conversation}), err
}

func (s *server) ListMembers(_ context.Context, r *connect.Request[chatv1.ListMembersRequest]) (*connect.Response[chatv1.ListMembersResponse], error) {
	if r.Msg.Page == "" {
		return connect.NewResponse(&chatv1.ListMembersResponse{Members: []*chatv1.Member{{User: 1}, {User: 2}}, Next: "2"}), nil
	}
	return connect.NewResponse(&chatv1.ListMembersResponse{Members: []*chatv1.Member{{User: 3}}}), nil
}

func TestChannels(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	made, err := c.CreateChannel(t.Context(), "news-1", rialto.Channel{Title: "News", Handle: "@News", Open: true})
	if err != nil || made.Id != 9 || made.Handle != "news" {
		t.Errorf("created %v, %v", made, err)
	}
	if g := s.groups[0]; !g.Channel || g.Key != "news-1" || g.JoinPolicy != chatv1.JoinPolicy_JOIN_POLICY_OPEN {
		t.Errorf("asked for %v", g)
	}
	if made, err := c.CreateChannel(t.Context(), "news-2", rialto.Channel{Title: "News", Handle: "@taken"}); made == nil || made.Handle != "" || connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("with a handle that is taken: %v, %v", made, err)
	}
	for address, want := range map[string]uint64{"@news": 31, "code": 32, "77": 77, "https://chat.example.com/join/code": 32, "https://example.com/app/g/78": 78, "https://chat.example.com/c/@news": 31} {
		if joined, err := c.JoinChannel(t.Context(), address); err != nil || joined.Id != want {
			t.Errorf("%s leads to %v, %v", address, joined, err)
		}
		if found, err := c.PreviewJoin(t.Context(), address); err != nil || found.Conversation != want {
			t.Errorf("the preview of %s is %v, %v", address, found, err)
		}
		if rialto.IsJoinCode(address) != (want == 32) {
			t.Errorf("%s is a code: %v", address, want != 32)
		}
	}
	var users []uint64
	err = c.Followers(t.Context(), 31, func(m *chatv1.Member) bool { users = append(users, m.User); return true })
	if err != nil || !slices.Equal(users, []uint64{1, 2, 3}) {
		t.Errorf("the followers are %v, %v", users, err)
	}
}
