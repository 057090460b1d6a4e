package rpc

import (
	"context"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/gen/rialto/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/gen/rialto/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/internal/id"
)

func (s *Server) accounts() []method {
	a := s.deps.Accounts
	return []method{
		call(s, accountv1connect.AccountServiceRegisterProcedure, anyone, func(ctx context.Context, _ id.Caller, r *accountv1.RegisterRequest) (*accountv1.Session, error) {
			return a.Register(ctx, r)
		}),
		call(s, accountv1connect.AccountServiceLoginProcedure, anyone, func(ctx context.Context, _ id.Caller, r *accountv1.LoginRequest) (*accountv1.Session, error) {
			return a.Login(ctx, r)
		}),
		call(s, accountv1connect.AccountServiceRequestCodeProcedure, anyone, func(ctx context.Context, _ id.Caller, r *accountv1.RequestCodeRequest) (*accountv1.RequestCodeResponse, error) {
			return &accountv1.RequestCodeResponse{}, a.RequestCode(ctx, r.Handle)
		}),
		call(s, accountv1connect.AccountServiceLoginWithCodeProcedure, anyone, func(ctx context.Context, _ id.Caller, r *accountv1.LoginWithCodeRequest) (*accountv1.Session, error) {
			return a.LoginWithCode(ctx, r)
		}),
		call(s, accountv1connect.AccountServiceRefreshProcedure, anyone, func(ctx context.Context, _ id.Caller, r *accountv1.RefreshRequest) (*accountv1.Session, error) {
			return a.Refresh(ctx, r)
		}),
		call(s, accountv1connect.AccountServiceLogoutProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.LogoutRequest) (*accountv1.LogoutResponse, error) {
			return &accountv1.LogoutResponse{}, a.Logout(ctx, c, r.All)
		}),
		call(s, accountv1connect.AccountServiceListSessionsProcedure, users, func(ctx context.Context, c id.Caller, _ *accountv1.ListSessionsRequest) (*accountv1.ListSessionsResponse, error) {
			list, err := a.ListSessions(ctx, c)
			return &accountv1.ListSessionsResponse{Sessions: list}, err
		}),
		call(s, accountv1connect.AccountServiceRevokeSessionProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.RevokeSessionRequest) (*accountv1.RevokeSessionResponse, error) {
			return &accountv1.RevokeSessionResponse{}, a.RevokeSession(ctx, c, id.Session(r.Session))
		}),
		call(s, accountv1connect.AccountServiceChangePasswordProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.ChangePasswordRequest) (*accountv1.ChangePasswordResponse, error) {
			return &accountv1.ChangePasswordResponse{}, a.ChangePassword(ctx, c, r)
		}),
		call(s, accountv1connect.AccountServiceCreateTicketProcedure, users, func(ctx context.Context, c id.Caller, _ *accountv1.CreateTicketRequest) (*accountv1.CreateTicketResponse, error) {
			return a.CreateTicket(ctx, c)
		}),
		call(s, accountv1connect.AccountServiceGetUsersProcedure, users, func(ctx context.Context, _ id.Caller, r *accountv1.GetUsersRequest) (*accountv1.GetUsersResponse, error) {
			list, err := a.GetUsers(ctx, r)
			return &accountv1.GetUsersResponse{Users: s.pictures(list)}, err
		}),
		call(s, accountv1connect.AccountServiceSearchUsersProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.SearchUsersRequest) (*accountv1.SearchUsersResponse, error) {
			list, err := a.SearchUsers(ctx, c, r.Query)
			return &accountv1.SearchUsersResponse{Users: s.pictures(list)}, err
		}),
		call(s, accountv1connect.AccountServiceUpdateProfileProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.UpdateProfileRequest) (*accountv1.User, error) {
			if r.GetAvatar() != 0 {
				if err := s.deps.Media.CheckPicture(ctx, c.User, id.Upload(r.GetAvatar())); err != nil {
					return nil, err
				}
			}
			return s.picture(a.UpdateProfile(ctx, c, r))
		}),
		call(s, accountv1connect.AccountServiceGetSettingsProcedure, users, func(ctx context.Context, c id.Caller, _ *accountv1.GetSettingsRequest) (*accountv1.Settings, error) {
			return a.GetSettings(ctx, c)
		}),
		call(s, accountv1connect.AccountServiceUpdateSettingsProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.UpdateSettingsRequest) (*accountv1.Settings, error) {
			return a.UpdateSettings(ctx, c, r.Settings)
		}),
	}
}

// pictures adds the avatars' URLs.
func (s *Server) pictures(list []*accountv1.User) []*accountv1.User {
	for _, u := range list {
		if u.Avatar != 0 {
			u.AvatarUrl = s.deps.Media.PictureURL(id.Upload(u.Avatar))
		}
	}
	return list
}

func (s *Server) picture(u *accountv1.User, err error) (*accountv1.User, error) {
	if err != nil {
		return nil, err
	}
	return s.pictures([]*accountv1.User{u})[0], nil
}

func (s *Server) admin() []method {
	a := s.deps.Accounts
	return []method{
		call(s, accountv1connect.AdminServicePutUserProcedure, servers, func(ctx context.Context, _ id.Caller, r *accountv1.PutUserRequest) (*accountv1.User, error) {
			return s.picture(a.PutUser(ctx, r))
		}),
		call(s, accountv1connect.AdminServiceCreateSessionProcedure, servers, func(ctx context.Context, _ id.Caller, r *accountv1.CreateSessionRequest) (*accountv1.Session, error) {
			return a.CreateSession(ctx, r)
		}),
	}
}

func (s *Server) graph() []method {
	a := s.deps.Accounts
	return []method{
		call(s, accountv1connect.GraphServiceRequestFriendProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.RequestFriendRequest) (*chatv1.Relation, error) {
			return a.RequestFriend(ctx, c.User, id.User(r.User), r.Message)
		}),
		call(s, accountv1connect.GraphServiceAnswerFriendProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.AnswerFriendRequest) (*chatv1.Relation, error) {
			return a.AnswerFriend(ctx, c.User, id.User(r.User), r.Accept)
		}),
		call(s, accountv1connect.GraphServiceRemarkFriendProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.RemarkFriendRequest) (*chatv1.Relation, error) {
			return a.RemarkFriend(ctx, c.User, id.User(r.User), r.Remark)
		}),
		call(s, accountv1connect.GraphServiceDeleteFriendProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.DeleteFriendRequest) (*chatv1.Relation, error) {
			return a.DeleteFriend(ctx, c.User, id.User(r.User))
		}),
		call(s, accountv1connect.GraphServiceBlockProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.BlockRequest) (*chatv1.Relation, error) {
			return a.SetBlock(ctx, c.User, id.User(r.User), true)
		}),
		call(s, accountv1connect.GraphServiceUnblockProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.UnblockRequest) (*chatv1.Relation, error) {
			return a.SetBlock(ctx, c.User, id.User(r.User), false)
		}),
		call(s, accountv1connect.GraphServiceFollowProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.FollowRequest) (*chatv1.Relation, error) {
			return a.SetFollow(ctx, c.User, id.User(r.User), true)
		}),
		call(s, accountv1connect.GraphServiceUnfollowProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.UnfollowRequest) (*chatv1.Relation, error) {
			return a.SetFollow(ctx, c.User, id.User(r.User), false)
		}),
		call(s, accountv1connect.GraphServiceListRelationsProcedure, users, func(ctx context.Context, c id.Caller, r *accountv1.ListRelationsRequest) (*accountv1.ListRelationsResponse, error) {
			return a.ListRelations(ctx, c.User, r.Limit, r.Page)
		}),
		call(s, accountv1connect.GraphServiceSuggestFriendsProcedure, users, func(ctx context.Context, c id.Caller, _ *accountv1.SuggestFriendsRequest) (*accountv1.SuggestFriendsResponse, error) {
			out, err := a.SuggestFriends(ctx, c.User)
			if err != nil {
				return nil, err
			}
			for _, g := range out.Suggestions {
				s.pictures([]*accountv1.User{g.User})
			}
			return out, nil
		}),
	}
}

func (s *Server) media() []method {
	m := s.deps.Media
	return []method{
		call(s, chatv1connect.MediaServiceCreateUploadProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
			return m.CreateUpload(ctx, c.User, r)
		}),
		call(s, chatv1connect.MediaServiceCompleteUploadProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.CompleteUploadRequest) (*chatv1.Upload, error) {
			return m.CompleteUpload(ctx, c.User, id.Upload(r.Upload))
		}),
		call(s, chatv1connect.MediaServiceGetDownloadProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error) {
			return m.GetDownload(ctx, c.User, r)
		}),
	}
}
