package rpc

import (
	"context"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/gen/rialto/chat/v1/chatv1connect"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"github.com/rialto-im/rialto/gen/rialto/presence/v1/presencev1connect"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/proto"
)

func changed(seq uint64, err error) (*chatv1.Change, error) { return &chatv1.Change{Seq: seq}, err }

func (s *Server) chats() []method {
	return append(append(s.conversations(), s.members()...), s.messages()...)
}

func (s *Server) conversations() []method {
	h, in := s.deps.Chat, s.deps.Inbox
	return []method{
		call(s, chatv1connect.ChatServiceOpenDirectProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.OpenDirectRequest) (*chatv1.Conversation, error) {
			conversation, err := h.OpenDirect(ctx, c.User, id.User(r.User))
			if err != nil {
				return nil, err
			}
			return in.GetConversation(ctx, c.User, conversation)
		}),
		call(s, chatv1connect.ChatServiceCreateGroupProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.CreateGroupRequest) (*chatv1.Conversation, error) {
			conversation, err := h.CreateGroup(ctx, c.User, r)
			if err != nil {
				return nil, err
			}
			return in.GetConversation(ctx, c.User, conversation)
		}),
		call(s, chatv1connect.ChatServiceGetConversationProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.GetConversationRequest) (*chatv1.Conversation, error) {
			return in.GetConversation(ctx, c.User, id.Conversation(r.Conversation))
		}),
		call(s, chatv1connect.ChatServiceListConversationsProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error) {
			return in.ListConversations(ctx, c.User, r)
		}),
		call(s, chatv1connect.ChatServiceUpdateGroupProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.UpdateGroupRequest) (*chatv1.Change, error) {
			if r.GetAvatar() != 0 {
				if err := s.deps.Media.CheckPicture(ctx, c.User, id.Upload(r.GetAvatar())); err != nil {
					return nil, err
				}
			}
			return changed(h.UpdateGroup(ctx, id.Conversation(r.Conversation), c.User, r))
		}),
		call(s, chatv1connect.ChatServiceSetRetentionProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.SetRetentionRequest) (*chatv1.Change, error) {
			return changed(h.SetRetention(ctx, id.Conversation(r.Conversation), c.User, r.Days))
		}),
		call(s, chatv1connect.ChatServiceDissolveProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.DissolveRequest) (*chatv1.Change, error) {
			return changed(h.Dissolve(ctx, id.Conversation(r.Conversation), c.User))
		}),
		call(s, chatv1connect.ChatServiceConfigureProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error) {
			return in.Configure(ctx, c.User, r)
		}),
		call(s, presencev1connect.PresenceServiceGetPresenceProcedure, users, func(ctx context.Context, c id.Caller, r *presencev1.GetPresenceRequest) (*presencev1.GetPresenceResponse, error) {
			list := make([]id.User, len(r.Users))
			for i, u := range r.Users {
				list[i] = id.User(u)
			}
			found, err := s.deps.Presence.Get(ctx, c.User, list)
			return &presencev1.GetPresenceResponse{Presences: found}, err
		}),
	}
}

func (s *Server) members() []method {
	h := s.deps.Chat
	return []method{
		call(s, chatv1connect.ChatServiceListMembersProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.ListMembersRequest) (*chatv1.ListMembersResponse, error) {
			return h.ListMembers(ctx, id.Conversation(r.Conversation), c.User, r.Limit, r.Page)
		}),
		call(s, chatv1connect.ChatServiceInviteProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.InviteRequest) (*chatv1.Change, error) {
			return changed(h.Invite(ctx, id.Conversation(r.Conversation), c.User, r.Users))
		}),
		call(s, chatv1connect.ChatServiceRemoveProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.RemoveRequest) (*chatv1.Change, error) {
			return changed(h.Remove(ctx, id.Conversation(r.Conversation), c.User, r.Users))
		}),
		call(s, chatv1connect.ChatServiceLeaveProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.LeaveRequest) (*chatv1.Change, error) {
			return changed(h.Leave(ctx, id.Conversation(r.Conversation), c.User))
		}),
		call(s, chatv1connect.ChatServiceJoinProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.JoinRequest) (*chatv1.JoinResponse, error) {
			joined, conversation, err := h.Join(ctx, c.User, r)
			return &chatv1.JoinResponse{Joined: joined, Conversation: uint64(conversation)}, err
		}),
		call(s, chatv1connect.ChatServiceListJoinRequestsProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.ListJoinRequestsRequest) (*chatv1.ListJoinRequestsResponse, error) {
			return h.ListJoinRequests(ctx, id.Conversation(r.Conversation), c.User)
		}),
		call(s, chatv1connect.ChatServiceAnswerJoinRequestProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.AnswerJoinRequestRequest) (*chatv1.Change, error) {
			return changed(h.AnswerJoinRequest(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User), r.Accept))
		}),
		call(s, chatv1connect.ChatServiceCreateJoinLinkProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.CreateJoinLinkRequest) (*chatv1.CreateJoinLinkResponse, error) {
			token, err := h.CreateJoinLink(ctx, id.Conversation(r.Conversation), c.User)
			return &chatv1.CreateJoinLinkResponse{Token: token}, err
		}),
		call(s, chatv1connect.ChatServiceSetRoleProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.SetRoleRequest) (*chatv1.Change, error) {
			return changed(h.SetRole(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User), r.Role))
		}),
		call(s, chatv1connect.ChatServiceTransferProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.TransferRequest) (*chatv1.Change, error) {
			return changed(h.Transfer(ctx, id.Conversation(r.Conversation), c.User, id.User(r.User)))
		}),
		call(s, chatv1connect.ChatServiceMuteMembersProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.MuteMembersRequest) (*chatv1.Change, error) {
			return changed(h.MuteMembers(ctx, id.Conversation(r.Conversation), c.User, r))
		}),
	}
}

func (s *Server) messages() []method {
	h, in := s.deps.Chat, s.deps.Inbox
	return []method{
		call(s, chatv1connect.ChatServiceSendProcedure, users, s.send),
		call(s, chatv1connect.ChatServiceHistoryProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.HistoryRequest) (*chatv1.HistoryResponse, error) {
			return h.History(ctx, c.User, r)
		}),
		call(s, chatv1connect.ChatServiceMarkProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.MarkRequest) (*chatv1.MarkResponse, error) {
			state, err := in.MarkSync(ctx, c.User, id.Conversation(r.Conversation), r.DeliveredSeq, r.ReadSeq)
			return &chatv1.MarkResponse{State: state}, err
		}),
		call(s, chatv1connect.ChatServiceListReadersProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error) {
			return in.ListReaders(ctx, c.User, r)
		}),
		call(s, chatv1connect.ChatServiceSyncProcedure, users, func(ctx context.Context, c id.Caller, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error) {
			return in.Sync(ctx, c, r)
		}),
	}
}

func (s *Server) send(ctx context.Context, c id.Caller, r *chatv1.SendRequest) (*chatv1.SendResponse, error) {
	d := &message.Draft{Conversation: id.Conversation(r.Conversation), Sender: c.User, Device: c.Device, ClientSeq: r.ClientSeq, ClientMsgID: r.ClientMsgId}
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
