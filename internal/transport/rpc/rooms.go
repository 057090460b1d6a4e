package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// Rooms are chat rooms.
type Rooms interface {
	CreateRoom(ctx context.Context, by id.User, r *chatv1.CreateRoomRequest) (*chatv1.Room, error)
	GetRoom(ctx context.Context, room id.Room) (*chatv1.Room, error)
	ListRooms(ctx context.Context, u id.User) (*chatv1.ListRoomsResponse, error)
	UpdateRoom(ctx context.Context, by id.User, r *chatv1.UpdateRoomRequest) (*chatv1.Room, error)
	CloseRoom(ctx context.Context, by id.User, r *chatv1.CloseRoomRequest) (*chatv1.Room, error)
	SetModerator(ctx context.Context, by id.User, r *chatv1.SetRoomModeratorRequest) (*chatv1.Room, error)
	Kick(ctx context.Context, by id.User, r *chatv1.KickFromRoomRequest) (*chatv1.KickFromRoomResponse, error)
	Mute(ctx context.Context, by id.User, r *chatv1.MuteInRoomRequest) (*chatv1.MuteInRoomResponse, error)
	ListRestrictions(ctx context.Context, by id.User, room id.Room) (*chatv1.ListRoomRestrictionsResponse, error)
	SendMessage(ctx context.Context, by id.User, r *chatv1.SendRoomMessageRequest) (*chatv1.SendRoomMessageResponse, error)
	Like(u id.User, room id.Room, count uint32) error
}

func (s *Server) rooms() []method {
	h := s.deps.Rooms
	return []method{
		newMethod(s, chatv1connect.RoomServiceCreateRoomProcedure, userAccess, byUser(h.CreateRoom)),
		newMethod(s, chatv1connect.RoomServiceGetRoomProcedure, userAccess, func(ctx context.Context, _ id.Caller, r *chatv1.GetRoomRequest) (*chatv1.Room, error) {
			return h.GetRoom(ctx, id.Room(r.Room))
		}),
		newMethod(s, chatv1connect.RoomServiceListRoomsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListRoomsRequest) (*chatv1.ListRoomsResponse, error) {
			return h.ListRooms(ctx, c.User)
		}),
		newMethod(s, chatv1connect.RoomServiceUpdateRoomProcedure, userAccess, byUser(h.UpdateRoom)),
		newMethod(s, chatv1connect.RoomServiceCloseRoomProcedure, userAccess, byUser(h.CloseRoom)),
		newMethod(s, chatv1connect.RoomServiceSetRoomModeratorProcedure, userAccess, byUser(h.SetModerator)),
		newMethod(s, chatv1connect.RoomServiceKickFromRoomProcedure, userAccess, byUser(h.Kick)),
		newMethod(s, chatv1connect.RoomServiceMuteInRoomProcedure, userAccess, byUser(h.Mute)),
		newMethod(s, chatv1connect.RoomServiceListRoomRestrictionsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.ListRoomRestrictionsRequest) (*chatv1.ListRoomRestrictionsResponse, error) {
			return h.ListRestrictions(ctx, c.User, id.Room(r.Room))
		}),
		newMethod(s, chatv1connect.RoomServiceSendRoomMessageProcedure, userAccess, byUser(h.SendMessage)),
		newMethod(s, chatv1connect.RoomServiceLikeRoomProcedure, userAccess, func(_ context.Context, c id.Caller, r *chatv1.LikeRoomRequest) (*chatv1.LikeRoomResponse, error) {
			return &chatv1.LikeRoomResponse{}, h.Like(c.User, id.Room(r.Room), r.Count)
		}),
	}
}
