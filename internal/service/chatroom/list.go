package chatroom

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const maxListed = 200

// ListRooms returns the open rooms that a user owns or moderates, the newest first.
func (s *Service) ListRooms(ctx context.Context, u id.User) (*chatv1.ListRoomsResponse, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+roomColumns+` FROM rooms WHERE NOT closed AND (owner = $1 OR id IN (SELECT room FROM room_moderators WHERE moderator = $1))
		ORDER BY id DESC LIMIT $2`, int64(u), maxListed)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := &chatv1.ListRoomsResponse{}
	for rows.Next() {
		r, err := scanRoom(rows.Scan)
		if err != nil {
			return nil, err
		}
		list.Rooms = append(list.Rooms, r)
	}
	return list, rows.Err()
}

// ListRestrictions returns moderators the users who are kicked or muted.
func (s *Service) ListRestrictions(ctx context.Context, by id.User, room id.Room) (*chatv1.ListRoomRestrictionsResponse, error) {
	now := s.nowMs()
	st, err := readState(ctx, s.deps.DB.Read(), room, now)
	if err != nil {
		return nil, hideMissing(err)
	}
	if !st.isModerator(by) {
		return nil, errModerator
	}
	list := &chatv1.ListRoomRestrictionsResponse{}
	for _, u := range sortedUsers(st.restrictions) {
		x := st.restrictions[u].at(now)
		list.Restrictions = append(list.Restrictions, &chatv1.RoomRestriction{User: uint64(u), KickedUntilMs: x.kickedMs, MutedUntilMs: x.mutedMs})
	}
	return list, nil
}
