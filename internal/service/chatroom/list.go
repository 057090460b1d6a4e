package chatroom

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const maxListed = 200

// ListRooms returns the open rooms of a user, and after them those that the user moderates, the newest of each first. A user's own are asked for
// first, so that others cannot push them out by making the user a moderator.
func (s *Service) ListRooms(ctx context.Context, u id.User) (*chatv1.ListRoomsResponse, error) {
	rooms, err := s.queryRooms(ctx, `SELECT `+roomColumns+` FROM rooms WHERE NOT closed AND owner = $1 ORDER BY id DESC LIMIT $2`, u, maxOwned)
	if err != nil {
		return nil, err
	}
	moderated, err := s.queryRooms(ctx, `SELECT `+roomColumns+` FROM rooms WHERE NOT closed AND owner <> $1 AND id IN (SELECT room FROM room_moderators WHERE moderator = $1)
		ORDER BY id DESC LIMIT $2`, u, maxListed-len(rooms))
	if err != nil {
		return nil, err
	}
	return &chatv1.ListRoomsResponse{Rooms: append(rooms, moderated...)}, nil
}

// queryRooms returns the rooms of a query with a user and a limit.
func (s *Service) queryRooms(ctx context.Context, query string, u id.User, limit int) (list []*chatv1.Room, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(u), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRoom(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// maxModerated bounds the open rooms of others that a user moderates. Nobody is asked before becoming a moderator.
const maxModerated = 100

var errModerated = errs.New(errs.Exhausted, "too_many_moderated", "this user moderates 100 open rooms already; name somebody else, or try again when some are closed")

// checkModerated fails if a user moderates as many open rooms as one may.
func checkModerated(ctx context.Context, tx *sql.Tx, u id.User) error {
	count := 0
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM room_moderators JOIN rooms ON rooms.id = room_moderators.room WHERE moderator = $1 AND NOT closed`, int64(u)).Scan(&count); err != nil {
		return err
	}
	if count >= maxModerated {
		return errModerated
	}
	return nil
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
