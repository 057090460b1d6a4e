package rpc

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/presence/v1/presencev1connect"
	"google.golang.org/protobuf/proto"
)

func changeOf(seq uint64, err error) (*chatv1.Change, error) { return &chatv1.Change{Seq: seq}, err }

func (s *Server) chats() []method {
	return slices.Concat(s.conversations(), s.folders(), s.members(), s.messages())
}

func (s *Server) conversations() []method {
	h, in := s.deps.Chat, s.deps.Inbox
	return []method{
		newMethod(s, chatv1connect.ChatServiceOpenDirectProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.OpenDirectRequest) (*chatv1.Conversation, error) {
			conversation, err := h.OpenDirect(ctx, c.User, id.User(r.User))
			if err != nil {
				return nil, err
			}
			return in.GetConversation(ctx, c.User, conversation)
		}),
		newMethod(s, chatv1connect.ChatServiceCreateGroupProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CreateGroupRequest) (*chatv1.Conversation, error) {
			conversation, err := h.CreateGroupBy(ctx, c, r)
			if err != nil {
				return nil, err
			}
			return in.GetConversation(ctx, c.User, conversation)
		}),
		newMethod(s, chatv1connect.ChatServiceGetConversationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetConversationRequest) (*chatv1.Conversation, error) {
			return in.GetConversation(ctx, c.User, id.Conversation(r.Conversation))
		}),
		newMethod(s, chatv1connect.ChatServiceListConversationsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error) {
			return in.ListConversations(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceStartThreadProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.StartThreadRequest) (*chatv1.Conversation, error) {
			conversation, err := h.StartThread(ctx, c.User, id.Conversation(r.Conversation), r.Seq)
			if err != nil {
				return nil, err
			}
			return in.GetConversation(ctx, c.User, conversation)
		}),
		newMethod(s, chatv1connect.ChatServiceListThreadsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListThreadsRequest) (*chatv1.ListThreadsResponse, error) {
			return in.ListThreads(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceUpdateGroupProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.UpdateGroupRequest) (*chatv1.Change, error) {
			return changeOf(h.UpdateGroup(ctx, id.Conversation(r.Conversation), c.User, r))
		}),
		newMethod(s, chatv1connect.ChatServiceSetRetentionProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.SetRetentionRequest) (*chatv1.Change, error) {
			return changeOf(h.SetRetention(ctx, id.Conversation(r.Conversation), c.User, r.Seconds))
		}),
		newMethod(s, chatv1connect.ChatServiceDissolveProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.DissolveRequest) (*chatv1.Change, error) {
			return changeOf(h.Dissolve(ctx, id.Conversation(r.Conversation), c.User))
		}),
		newMethod(s, chatv1connect.ChatServiceDeleteMessagesProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.DeleteMessagesRequest) (*chatv1.Deletion, error) {
			return h.DeleteMessages(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceClearHistoryProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ClearHistoryRequest) (*chatv1.Deletion, error) {
			return h.ClearHistory(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceConfigureProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error) {
			return in.Configure(ctx, c.User, r)
		}),
		newMethod(s, presencev1connect.PresenceServiceGetPresenceProcedure, userAccess, func(ctx context.Context, c id.Caller, r *presencev1.GetPresenceRequest) (*presencev1.GetPresenceResponse, error) {
			list := make([]id.User, len(r.Users))
			for i, u := range r.Users {
				list[i] = id.User(u)
			}
			found, err := s.deps.Presence.Get(ctx, c.User, list)
			return &presencev1.GetPresenceResponse{Presences: found}, err
		}),
		newMethod(s, presencev1connect.PresenceServiceListDevicesProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *presencev1.ListDevicesRequest) (*presencev1.ListDevicesResponse, error) {
			return s.deps.Presence.ListDevices(ctx, c.User)
		}),
	}
}

func (s *Server) folders() []method {
	in := s.deps.Inbox
	return []method{
		newMethod(s, chatv1connect.ChatServiceListFoldersProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListFoldersRequest) (*chatv1.ListFoldersResponse, error) {
			return in.ListFolders(ctx, c.User)
		}),
		newMethod(s, chatv1connect.ChatServiceCreateFolderProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CreateFolderRequest) (*chatv1.Folder, error) {
			return in.CreateFolder(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceUpdateFolderProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.UpdateFolderRequest) (*chatv1.Folder, error) {
			return in.UpdateFolder(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceDeleteFolderProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.DeleteFolderRequest) (*chatv1.DeleteFolderResponse, error) {
			return &chatv1.DeleteFolderResponse{}, in.DeleteFolder(ctx, c.User, r.Id)
		}),
		newMethod(s, chatv1connect.ChatServiceOrderFoldersProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.OrderFoldersRequest) (*chatv1.ListFoldersResponse, error) {
			return in.OrderFolders(ctx, c.User, r.Ids)
		}),
	}
}

func (s *Server) members() []method {
	h := s.deps.Chat
	return []method{
		newMethod(s, chatv1connect.ChatServiceListMembersProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListMembersRequest) (*chatv1.ListMembersResponse, error) {
			return h.ListMembers(ctx, id.Conversation(r.Conversation), c.User, r.Limit, r.Page)
		}),
		newMethod(s, chatv1connect.ChatServiceInviteProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.InviteRequest) (*chatv1.Change, error) {
			return h.InviteBy(ctx, id.Conversation(r.Conversation), c, r.Users)
		}),
		newMethod(s, chatv1connect.ChatServiceRemoveProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.RemoveRequest) (*chatv1.Change, error) {
			return changeOf(h.Remove(ctx, id.Conversation(r.Conversation), c.User, r.Users))
		}),
		newMethod(s, chatv1connect.ChatServiceLeaveProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.LeaveRequest) (*chatv1.Change, error) {
			return changeOf(h.Leave(ctx, id.Conversation(r.Conversation), c.User))
		}),
		newMethod(s, chatv1connect.ChatServiceJoinProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.JoinRequest) (*chatv1.JoinResponse, error) {
			joined, conversation, err := h.Join(ctx, c.User, r)
			return &chatv1.JoinResponse{Joined: joined, Conversation: uint64(conversation)}, err
		}),
		newMethod(s, chatv1connect.ChatServiceListJoinRequestsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListJoinRequestsRequest) (*chatv1.ListJoinRequestsResponse, error) {
			return h.ListJoinRequests(ctx, id.Conversation(r.Conversation), c.User)
		}),
		newMethod(s, chatv1connect.ChatServiceAnswerJoinRequestProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.AnswerJoinRequestRequest) (*chatv1.Change, error) {
			return changeOf(h.AnswerJoinRequest(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User), r.Accept))
		}),
		newMethod(s, chatv1connect.ChatServiceListInvitationsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListInvitationsRequest) (*chatv1.ListInvitationsResponse, error) {
			return h.ListInvitations(ctx, c.User)
		}),
		newMethod(s, chatv1connect.ChatServiceAnswerInvitationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.AnswerInvitationRequest) (*chatv1.Change, error) {
			return changeOf(h.AnswerInvitation(ctx, id.Conversation(r.Conversation), c.User, r.Accept))
		}),
		newMethod(s, chatv1connect.ChatServiceListGroupInvitationsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListGroupInvitationsRequest) (*chatv1.ListGroupInvitationsResponse, error) {
			return h.ListGroupInvitations(ctx, id.Conversation(r.Conversation), c.User, r.Limit, r.Page)
		}),
		newMethod(s, chatv1connect.ChatServiceCancelInvitationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CancelInvitationRequest) (*chatv1.CancelInvitationResponse, error) {
			return &chatv1.CancelInvitationResponse{}, h.CancelInvitation(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User))
		}),
		newMethod(s, chatv1connect.ChatServiceCreateJoinLinkProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CreateJoinLinkRequest) (*chatv1.CreateJoinLinkResponse, error) {
			token, err := h.CreateJoinLink(ctx, id.Conversation(r.Conversation), c.User, r.UntilMs)
			return &chatv1.CreateJoinLinkResponse{Token: token}, err
		}),
		newMethod(s, chatv1connect.ChatServiceRevokeJoinLinkProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.RevokeJoinLinkRequest) (*chatv1.RevokeJoinLinkResponse, error) {
			return &chatv1.RevokeJoinLinkResponse{}, h.RevokeJoinLink(ctx, id.Conversation(r.Conversation), c.User)
		}),
		newMethod(s, chatv1connect.ChatServicePreviewJoinLinkProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.PreviewJoinLinkRequest) (*chatv1.PreviewJoinLinkResponse, error) {
			return h.PreviewJoinLink(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceBanProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.BanRequest) (*chatv1.Change, error) {
			return changeOf(h.Ban(ctx, id.Conversation(r.Conversation), c.User, r.Users))
		}),
		newMethod(s, chatv1connect.ChatServiceUnbanProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.UnbanRequest) (*chatv1.Change, error) {
			return changeOf(h.Unban(ctx, id.Conversation(r.Conversation), c.User, r.Users))
		}),
		newMethod(s, chatv1connect.ChatServiceListBansProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListBansRequest) (*chatv1.ListBansResponse, error) {
			return h.ListBans(ctx, id.Conversation(r.Conversation), c.User, r.Limit, r.Page)
		}),
		newMethod(s, chatv1connect.ChatServiceSetRoleProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.SetRoleRequest) (*chatv1.Change, error) {
			return changeOf(h.SetRole(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User), r.Role))
		}),
		newMethod(s, chatv1connect.ChatServiceTransferProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.TransferRequest) (*chatv1.Change, error) {
			return changeOf(h.Transfer(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User)))
		}),
		newMethod(s, chatv1connect.ChatServiceMuteMembersProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.MuteMembersRequest) (*chatv1.Change, error) {
			return changeOf(h.MuteMembers(ctx, id.Conversation(r.Conversation), c.User, r))
		}),
	}
}

func (s *Server) messages() []method {
	h, in := s.deps.Chat, s.deps.Inbox
	return []method{
		newMethod(s, chatv1connect.ChatServiceSendProcedure, userAccess, s.send),
		newMethod(s, chatv1connect.ChatServiceHistoryProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.HistoryRequest) (*chatv1.HistoryResponse, error) {
			return h.History(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceGetMessagesProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error) {
			return h.GetMessages(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceListReactionsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListReactionsRequest) (*chatv1.ListReactionsResponse, error) {
			return h.ListReactions(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceListPinsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListPinsRequest) (*chatv1.ListPinsResponse, error) {
			return h.ListPins(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceListEditsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListEditsRequest) (*chatv1.ListEditsResponse, error) {
			return h.ListEdits(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceScheduleMessageProcedure, userAccess, s.deps.Schedule.ScheduleMessage),
		newMethod(s, chatv1connect.ChatServiceListScheduledProcedure, userAccess, s.deps.Schedule.ListScheduled),
		newMethod(s, chatv1connect.ChatServiceUpdateScheduledProcedure, userAccess, s.deps.Schedule.UpdateScheduled),
		newMethod(s, chatv1connect.ChatServiceCancelScheduledProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CancelScheduledRequest) (*chatv1.CancelScheduledResponse, error) {
			return &chatv1.CancelScheduledResponse{}, s.deps.Schedule.CancelScheduled(ctx, c, r.Id)
		}),
		newMethod(s, chatv1connect.ChatServiceStartStreamedMessageProcedure, userAccess, s.deps.Streamed.Start),
		newMethod(s, chatv1connect.ChatServiceWriteStreamedMessagesProcedure, userAccess, s.deps.Streamed.Write),
		newMethod(s, chatv1connect.ChatServiceEndStreamedMessageProcedure, userAccess, s.deps.Streamed.End),
		newMethod(s, chatv1connect.ChatServiceStopStreamedMessageProcedure, userAccess, s.deps.Streamed.Stop),
		newMethod(s, chatv1connect.ChatServiceGetStreamedMessageProcedure, userAccess, s.deps.Streamed.Get),
		newMethod(s, chatv1connect.ChatServicePreviewLinkProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.PreviewLinkRequest) (*chatv1.LinkPreview, error) {
			return s.deps.Previews.Preview(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceMarkProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.MarkRequest) (*chatv1.MarkResponse, error) {
			state, err := in.MarkNow(ctx, c.User, id.Conversation(r.Conversation), r.DeliveredSeq, r.ReadSeq)
			return &chatv1.MarkResponse{State: state}, err
		}),
		newMethod(s, chatv1connect.ChatServiceListReadersProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error) {
			return in.ListReaders(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceListDeliveriesProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListDeliveriesRequest) (*chatv1.ListDeliveriesResponse, error) {
			return in.ListDeliveries(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.ChatServiceSyncProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error) {
			return in.Sync(ctx, c, r)
		}),
	}
}

func (s *Server) send(ctx context.Context, c id.Caller, r *chatv1.SendRequest) (*chatv1.SendResponse, error) {
	d := &message.Draft{Conversation: id.Conversation(r.Conversation), Sender: c.User, Device: c.Device, ClientSeq: r.ClientSeq, ClientMsgID: r.ClientMsgId, PrevClientSeq: r.PrevClientSeq, Application: c.Server || c.Bot}
	if !c.Server { // a business server calls for many users from one address
		d.Network = ratelimit.NetworkOf(ctx)
	}
	if r.Content != nil {
		var err error
		if d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(r.Content); err != nil {
			return nil, errs.Wrap(errs.Invalid, "bad_content", "the content cannot be encoded", err)
		}
	}
	if err := s.deps.Chat.Send(ctx, d); err != nil {
		return nil, err
	}
	return &chatv1.SendResponse{Id: d.ID.String(), Seq: d.Seq, TimeMs: d.ID.Ms(), Counted: d.Counted, Duplicate: d.Duplicate}, nil
}
