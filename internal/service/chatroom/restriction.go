package chatroom

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errSeconds    = errs.New(errs.Invalid, "bad_restriction", "name a user, and a time of at most 31,536,000 seconds; 0 ends it")
	errRestricted = errs.New(errs.Exhausted, "too_many_restricted", "1,000 users are kicked or muted in this room: let some in again first, or mute all")
)

// at returns the restriction with 0 for what is over.
func (x restriction) at(nowMs int64) restriction {
	if x.kickedMs <= nowMs {
		x.kickedMs = 0
	}
	if x.mutedMs <= nowMs {
		x.mutedMs = 0
	}
	return x
}

func sortedUsers(of map[id.User]restriction) []id.User {
	list := make([]id.User, 0, len(of))
	for u := range of {
		list = append(list, u)
	}
	slices.Sort(list)
	return list
}

// Kick takes a user out of a room for a time.
func (s *Service) Kick(ctx context.Context, by id.User, q *chatv1.KickFromRoomRequest) (*chatv1.KickFromRoomResponse, error) {
	r := &chatv1.KickFromRoomResponse{}
	return r, hideMissing(s.askCall(ctx, askKick, id.Room(q.Room), by, q, r))
}

// Mute keeps a user from writing for a time.
func (s *Service) Mute(ctx context.Context, by id.User, q *chatv1.MuteInRoomRequest) (*chatv1.MuteInRoomResponse, error) {
	r := &chatv1.MuteInRoomResponse{}
	return r, hideMissing(s.askCall(ctx, askMute, id.Room(q.Room), by, q, r))
}

func (h *hosted) kick(ctx context.Context, s *Service, by id.User, q *chatv1.KickFromRoomRequest) (proto.Message, error) {
	u := id.User(q.User)
	untilMs, err := h.restrict(ctx, s, by, u, q.Seconds, func(x *restriction, untilMs int64) { x.kickedMs = untilMs })
	if err == nil && untilMs > 0 {
		h.kicked = u
	}
	return &chatv1.KickFromRoomResponse{UntilMs: untilMs}, err
}

func (h *hosted) mute(ctx context.Context, s *Service, by id.User, q *chatv1.MuteInRoomRequest) (proto.Message, error) {
	untilMs, err := h.restrict(ctx, s, by, id.User(q.User), q.Seconds, func(x *restriction, untilMs int64) { x.mutedMs = untilMs })
	return &chatv1.MuteInRoomResponse{UntilMs: untilMs}, err
}

// restrict changes what restricts a user, and returns until when. The caller holds changing.
func (h *hosted) restrict(ctx context.Context, s *Service, by, u id.User, seconds uint32, set func(x *restriction, untilMs int64)) (untilMs int64, err error) {
	if u == 0 || seconds > maxRestriction {
		return 0, errSeconds
	}
	if rank := h.rank(by); rank == 0 || rank <= h.rank(u) {
		return 0, errModerator
	}
	if seconds > 0 {
		if err := s.deps.Accounts.Exist(ctx, []id.User{u}); err != nil {
			return 0, err
		}
	}
	now := s.nowMs()
	if seconds > 0 {
		untilMs = now + int64(seconds)*time.Second.Milliseconds()
	}
	x := h.restrictions[u].at(now)
	set(&x, untilMs)
	err = h.commit(ctx, s, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM room_restrictions WHERE room = $1 AND (restricted = $2 OR kicked_until_ms <= $3 AND muted_until_ms <= $3)`, int64(h.room()), int64(u), now); err != nil {
			return err
		}
		if x != (restriction{}) {
			count := 0
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM room_restrictions WHERE room = $1`, int64(h.room())).Scan(&count); err != nil {
				return err
			}
			if count >= maxRestricted {
				return errRestricted
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO room_restrictions (room, restricted, kicked_until_ms, muted_until_ms) VALUES ($1, $2, $3, $4)`,
				int64(h.room()), int64(u), x.kickedMs, x.mutedMs); err != nil {
				return err
			}
		}
		return nil
	})
	return untilMs, err
}
