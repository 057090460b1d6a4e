package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

func (s *Server) accounts() []method {
	a := s.deps.Accounts
	return []method{
		newMethod(s, accountv1connect.AccountServiceRegisterProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.RegisterRequest) (*accountv1.Session, error) {
			return a.Register(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceGetLoginMethodsProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, _ *accountv1.GetLoginMethodsRequest) (*accountv1.LoginMethods, error) {
			return a.LoginMethods(s.page(ctx)), nil
		}),
		newMethod(s, accountv1connect.AccountServiceLoginProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.LoginRequest) (*accountv1.Session, error) {
			return a.Login(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceRequestCodeProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.RequestCodeRequest) (*accountv1.RequestCodeResponse, error) {
			return &accountv1.RequestCodeResponse{}, a.RequestCode(ctx, r.Handle)
		}),
		newMethod(s, accountv1connect.AccountServiceLoginWithCodeProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.LoginWithCodeRequest) (*accountv1.Session, error) {
			return a.LoginWithCode(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceLoginWithSecondFactorProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.LoginWithSecondFactorRequest) (*accountv1.Session, error) {
			return a.LoginWithSecondFactor(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceRequestPasswordResetProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.RequestPasswordResetRequest) (*accountv1.RequestPasswordResetResponse, error) {
			return &accountv1.RequestPasswordResetResponse{}, a.RequestPasswordReset(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceResetPasswordProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.ResetPasswordRequest) (*accountv1.ResetPasswordResponse, error) {
			return &accountv1.ResetPasswordResponse{}, a.ResetPassword(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceRefreshProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.RefreshRequest) (*accountv1.Session, error) {
			return a.Refresh(ctx, r)
		}),
		newMethod(s, accountv1connect.AccountServiceLogoutProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.LogoutRequest) (*accountv1.LogoutResponse, error) {
			return &accountv1.LogoutResponse{}, a.Logout(ctx, c, r.All)
		}),
		newMethod(s, accountv1connect.AccountServiceListSessionsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.ListSessionsRequest) (*accountv1.ListSessionsResponse, error) {
			return s.listSessions(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceRevokeSessionProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RevokeSessionRequest) (*accountv1.RevokeSessionResponse, error) {
			return &accountv1.RevokeSessionResponse{}, a.RevokeSession(ctx, c, id.Session(r.Session))
		}),
		newMethod(s, accountv1connect.AccountServiceChangePasswordProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.ChangePasswordRequest) (*accountv1.ChangePasswordResponse, error) {
			return &accountv1.ChangePasswordResponse{}, a.ChangePassword(ctx, c, r)
		}),
		newMethod(s, accountv1connect.AccountServiceCreateTicketProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.CreateTicketRequest) (*accountv1.CreateTicketResponse, error) {
			return a.CreateTicket(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceGetUsersProcedure, userAccess, func(ctx context.Context, _ id.Caller, r *accountv1.GetUsersRequest) (*accountv1.GetUsersResponse, error) {
			list, err := a.GetUsers(ctx, r)
			return &accountv1.GetUsersResponse{Users: s.pictures(list)}, err
		}),
		newMethod(s, accountv1connect.AccountServiceSearchUsersProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.SearchUsersRequest) (*accountv1.SearchUsersResponse, error) {
			list, err := a.SearchUsers(ctx, c, r.Query)
			return &accountv1.SearchUsersResponse{Users: s.pictures(list)}, err
		}),
		newMethod(s, accountv1connect.AccountServiceUpdateProfileProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.UpdateProfileRequest) (*accountv1.User, error) {
			return s.picture(a.UpdateProfile(ctx, c, r))
		}),
		newMethod(s, accountv1connect.AccountServiceGetSettingsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.GetSettingsRequest) (*accountv1.Settings, error) {
			return a.GetSettings(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceUpdateSettingsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.UpdateSettingsRequest) (*accountv1.Settings, error) {
			return a.UpdateSettings(ctx, c, r.Settings)
		}),
	}
}

// security has the calls that change how an account is protected.
func (s *Server) security() []method {
	a := s.deps.Accounts
	return []method{
		newMethod(s, accountv1connect.AccountServiceGetSecurityProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.GetSecurityRequest) (*accountv1.Security, error) {
			return a.GetSecurity(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceConfirmIdentityProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.ConfirmIdentityRequest) (*accountv1.ConfirmIdentityResponse, error) {
			return a.ConfirmIdentity(ctx, c, r)
		}),
		newMethod(s, accountv1connect.AccountServiceStartTotpProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.StartTotpRequest) (*accountv1.StartTotpResponse, error) {
			return a.StartTotp(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceConfirmTotpProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.ConfirmTotpRequest) (*accountv1.RecoveryCodes, error) {
			return a.ConfirmTotp(ctx, c, r.Code)
		}),
		newMethod(s, accountv1connect.AccountServiceRemoveTotpProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.RemoveTotpRequest) (*accountv1.RemoveTotpResponse, error) {
			return &accountv1.RemoveTotpResponse{}, a.RemoveTotp(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceCreateRecoveryCodesProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.CreateRecoveryCodesRequest) (*accountv1.RecoveryCodes, error) {
			return a.CreateRecoveryCodes(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceSetContactProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.SetContactRequest) (*accountv1.SetContactResponse, error) {
			return &accountv1.SetContactResponse{}, a.SetContact(ctx, c, r)
		}),
		newMethod(s, accountv1connect.AccountServiceVerifyContactProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.VerifyContactRequest) (*accountv1.Contact, error) {
			return a.VerifyContact(ctx, c, r)
		}),
		newMethod(s, accountv1connect.AccountServiceRemoveContactProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RemoveContactRequest) (*accountv1.RemoveContactResponse, error) {
			return &accountv1.RemoveContactResponse{}, a.RemoveContact(ctx, c, r.Kind)
		}),
	}
}

// passkeys has the calls of passkeys.
func (s *Server) passkeys() []method {
	a := s.deps.Accounts
	return []method{
		newMethod(s, accountv1connect.AccountServiceStartPasskeyLoginProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, _ *accountv1.StartPasskeyLoginRequest) (*accountv1.PasskeyOptions, error) {
			return a.StartPasskeyLogin(s.page(ctx))
		}),
		newMethod(s, accountv1connect.AccountServiceLoginWithPasskeyProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *accountv1.LoginWithPasskeyRequest) (*accountv1.Session, error) {
			return a.LoginWithPasskey(ctx, s.page(ctx), r)
		}),
		newMethod(s, accountv1connect.AccountServiceListPasskeysProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.ListPasskeysRequest) (*accountv1.ListPasskeysResponse, error) {
			return a.ListPasskeys(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceStartPasskeyProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.StartPasskeyRequest) (*accountv1.PasskeyOptions, error) {
			return a.StartPasskey(ctx, c, s.page(ctx))
		}),
		newMethod(s, accountv1connect.AccountServiceAddPasskeyProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.AddPasskeyRequest) (*accountv1.Passkey, error) {
			return a.AddPasskey(ctx, c, s.page(ctx), r)
		}),
		newMethod(s, accountv1connect.AccountServiceRenamePasskeyProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RenamePasskeyRequest) (*accountv1.Passkey, error) {
			return a.RenamePasskey(ctx, c, r)
		}),
		newMethod(s, accountv1connect.AccountServiceRemovePasskeyProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RemovePasskeyRequest) (*accountv1.RemovePasskeyResponse, error) {
			return &accountv1.RemovePasskeyResponse{}, a.RemovePasskey(ctx, c, r.Id)
		}),
	}
}

// pictures adds the URLs of avatars.
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
		newMethod(s, accountv1connect.AdminServicePutUserProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *accountv1.PutUserRequest) (*accountv1.User, error) {
			return s.picture(a.PutUser(ctx, r))
		}),
		newMethod(s, accountv1connect.AdminServiceCreateSessionProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *accountv1.CreateSessionRequest) (*accountv1.Session, error) {
			return a.CreateSession(ctx, r)
		}),
		newMethod(s, accountv1connect.AdminServicePutOfficialAccountProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *accountv1.PutOfficialAccountRequest) (*accountv1.PutOfficialAccountResponse, error) {
			return s.deps.Officials.Put(ctx, r)
		}),
	}
}

func (s *Server) graph() []method {
	a := s.deps.Accounts
	return []method{
		newMethod(s, accountv1connect.GraphServiceRequestFriendProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RequestFriendRequest) (*chatv1.Relation, error) {
			return a.RequestFriend(ctx, c.User, id.User(r.User), r.Message)
		}),
		newMethod(s, accountv1connect.GraphServiceAnswerFriendProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.AnswerFriendRequest) (*chatv1.Relation, error) {
			return a.AnswerFriend(ctx, c.User, id.User(r.User), r.Accept)
		}),
		newMethod(s, accountv1connect.GraphServiceRemarkFriendProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.RemarkFriendRequest) (*chatv1.Relation, error) {
			return a.RemarkFriend(ctx, c.User, id.User(r.User), r.Remark)
		}),
		newMethod(s, accountv1connect.GraphServiceDeleteFriendProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.DeleteFriendRequest) (*chatv1.Relation, error) {
			return a.DeleteFriend(ctx, c.User, id.User(r.User))
		}),
		newMethod(s, accountv1connect.GraphServiceBlockProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.BlockRequest) (*chatv1.Relation, error) {
			return a.SetBlock(ctx, c.User, id.User(r.User), true)
		}),
		newMethod(s, accountv1connect.GraphServiceUnblockProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.UnblockRequest) (*chatv1.Relation, error) {
			return a.SetBlock(ctx, c.User, id.User(r.User), false)
		}),
		newMethod(s, accountv1connect.GraphServiceFollowProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.FollowRequest) (*chatv1.Relation, error) {
			return a.SetFollow(ctx, c.User, id.User(r.User), true)
		}),
		newMethod(s, accountv1connect.GraphServiceUnfollowProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.UnfollowRequest) (*chatv1.Relation, error) {
			return a.SetFollow(ctx, c.User, id.User(r.User), false)
		}),
		newMethod(s, accountv1connect.GraphServiceMuteProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.MuteRequest) (*chatv1.Relation, error) {
			return a.SetMute(ctx, c.User, id.User(r.User), true)
		}),
		newMethod(s, accountv1connect.GraphServiceUnmuteProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.UnmuteRequest) (*chatv1.Relation, error) {
			return a.SetMute(ctx, c.User, id.User(r.User), false)
		}),
		newMethod(s, accountv1connect.GraphServiceListRelationsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *accountv1.ListRelationsRequest) (*accountv1.ListRelationsResponse, error) {
			return a.ListRelations(ctx, c.User, r.Limit, r.Page)
		}),
		newMethod(s, accountv1connect.GraphServiceSuggestFriendsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.SuggestFriendsRequest) (*accountv1.SuggestFriendsResponse, error) {
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
		newMethod(s, chatv1connect.MediaServiceCreateUploadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
			return m.CreateUpload(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.MediaServiceCompleteUploadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CompleteUploadRequest) (*chatv1.Upload, error) {
			return m.CompleteUpload(ctx, c.User, id.Upload(r.Upload))
		}),
		newMethod(s, chatv1connect.MediaServiceGetDownloadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error) {
			return m.GetDownload(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.MediaServiceCreateMultipartUploadProcedure, userAccess, byUser(m.CreateMultipartUpload)),
		newMethod(s, chatv1connect.MediaServiceGetMultipartUploadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetMultipartUploadRequest) (*chatv1.MultipartUpload, error) {
			return m.GetMultipartUpload(ctx, c.User, id.Upload(r.Upload))
		}),
		newMethod(s, chatv1connect.MediaServiceSignPartsProcedure, userAccess, byUser(m.SignParts)),
		newMethod(s, chatv1connect.MediaServiceCreateUploadCredentialsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CreateUploadCredentialsRequest) (*chatv1.UploadCredentials, error) {
			return m.CreateUploadCredentials(ctx, c, id.Upload(r.Upload))
		}),
		newMethod(s, chatv1connect.MediaServiceListUnfinishedUploadsProcedure, userAccess, byUser(m.ListUnfinishedUploads)),
		newMethod(s, chatv1connect.MediaServiceAbortUploadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.AbortUploadRequest) (*chatv1.AbortUploadResponse, error) {
			return &chatv1.AbortUploadResponse{}, m.AbortUpload(ctx, c.User, id.Upload(r.Upload))
		}),
	}
}

// listSessions adds to each session what its device has received.
func (s *Server) listSessions(ctx context.Context, c id.Caller) (*accountv1.ListSessionsResponse, error) {
	list, err := s.deps.Accounts.ListSessions(ctx, c)
	if err != nil {
		return nil, err
	}
	devices := make([]id.Device, len(list))
	for i, v := range list {
		devices[i] = id.Device(v.Device)
	}
	states, err := s.deps.Inbox.DeviceStates(ctx, c.User, devices)
	if err != nil { // the list is needed to end sessions
		s.deps.Logger.Warn("sessions are listed without what their devices have received", "user", c.User, "error", err)
	}
	for i, v := range list {
		st := states[devices[i]]
		v.UpToDate, v.BehindSinceMs = st.UpToDate, st.BehindSinceMs
	}
	return &accountv1.ListSessionsResponse{Sessions: list}, nil
}
