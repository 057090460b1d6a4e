package chatroom

import (
	"context"
	"database/sql"
	"errors"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errAnnouncement = errs.New(errs.Invalid, "bad_room_announcement", "a room's announcement has at most 500 characters, without control and text-direction characters, and not more than six marks on one letter")
	errModerators   = errs.New(errs.Exhausted, "too_many_moderators", "a room has at most 50 moderators: remove one first")
	errNoUser       = errs.New(errs.Invalid, "bad_moderator", "name a user other than the owner")
)

// hideMissing gives those who may not change a room the same answer for one that does not exist.
func hideMissing(err error) error {
	if errors.Is(err, errNoRoom) || err != nil && errs.Of(err).Reason == errNoRoom.Reason {
		return errModerator
	}
	return err
}

// UpdateRoom changes a room's title, announcement, or whether all are muted.
func (s *Service) UpdateRoom(ctx context.Context, by id.User, q *chatv1.UpdateRoomRequest) (*chatv1.Room, error) {
	r := &chatv1.Room{}
	return r, hideMissing(s.askCall(ctx, askUpdate, id.Room(q.Room), by, q, r))
}

// CloseRoom ends a room.
func (s *Service) CloseRoom(ctx context.Context, by id.User, q *chatv1.CloseRoomRequest) (*chatv1.Room, error) {
	r := &chatv1.Room{}
	return r, hideMissing(s.askCall(ctx, askClose, id.Room(q.Room), by, q, r))
}

// SetModerator makes a user a moderator, or no longer one. Moderators may resign.
func (s *Service) SetModerator(ctx context.Context, by id.User, q *chatv1.SetRoomModeratorRequest) (*chatv1.Room, error) {
	r := &chatv1.Room{}
	return r, hideMissing(s.askCall(ctx, askModerator, id.Room(q.Room), by, q, r))
}

// change executes a moderator's request: it changes the rows, reads them again, and tells the nodes.
func (h *hosted) change(ctx context.Context, s *Service, q request) ([]byte, error) {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	gone := h.gone
	h.mu.Unlock()
	switch {
	case gone:
		return nil, errGone
	case h.Closed: // only this function changes it
		return nil, errClosed
	}
	h.kicked = 0
	answer, err := h.changeRows(ctx, s, q)
	var st *roomState
	if err == nil {
		st, err = readState(ctx, s.deps.DB.Read(), q.room, s.nowMs())
	}
	if err != nil {
		if kind := errs.Of(err).Kind; kind == errs.Internal || kind == errs.Unavailable {
			s.drop(q.room, h) // the rows may have changed; they are read again
		}
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.roomState = st
	h.flush(s)
	u := &chatv1.RoomUpdate{Room: h.Id, Changed: h.Room}
	if h.Closed {
		u.Left = chatv1.RoomLeft_ROOM_LEFT_CLOSED
	}
	h.publish(s, u)
	if answer == nil {
		answer = h.Room
	}
	return proto.Marshal(answer)
}

// changeRows returns the answer, or nil where that is the changed room.
func (h *hosted) changeRows(ctx context.Context, s *Service, q request) (answer proto.Message, err error) {
	switch q.kind {
	case askUpdate:
		return execute(q.body, func(r *chatv1.UpdateRoomRequest) (proto.Message, error) { return nil, h.update(ctx, s, q.by, r) })
	case askClose:
		return nil, h.close(ctx, s, q.by)
	case askModerator:
		return execute(q.body, func(r *chatv1.SetRoomModeratorRequest) (proto.Message, error) {
			return nil, h.setModerator(ctx, s, q.by, r)
		})
	case askKick:
		return execute(q.body, func(r *chatv1.KickFromRoomRequest) (proto.Message, error) { return h.kick(ctx, s, q.by, r) })
	case askMute:
		return execute(q.body, func(r *chatv1.MuteInRoomRequest) (proto.Message, error) { return h.mute(ctx, s, q.by, r) })
	}
	return nil, errRequest
}

func (h *hosted) update(ctx context.Context, s *Service, by id.User, q *chatv1.UpdateRoomRequest) (err error) {
	if !h.isModerator(by) {
		return errModerator
	}
	title, announcement, muted := h.Title, h.Announcement, h.Muted
	if q.Title != nil {
		if title, err = checkTitle(*q.Title); err != nil {
			return err
		}
	}
	if q.Announcement != nil {
		announcement = *q.Announcement
		if len(announcement) > 4*maxAnnouncement || utf8.RuneCountInString(announcement) > maxAnnouncement || !message.IsParagraph(announcement) {
			return errAnnouncement
		}
	}
	if q.Muted != nil {
		muted = *q.Muted
	}
	return h.commit(ctx, s, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE rooms SET title = $2, announcement = $3, muted = $4 WHERE id = $1`, int64(h.room()), title, announcement, muted)
		return err
	})
}

func (h *hosted) close(ctx context.Context, s *Service, by id.User) error {
	if h.rank(by) < 2 {
		return errModerator
	}
	return h.commit(ctx, s, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE rooms SET closed = TRUE, closed_ms = $2 WHERE id = $1`, int64(h.room()), s.nowMs())
		return err
	})
}

func (h *hosted) setModerator(ctx context.Context, s *Service, by id.User, q *chatv1.SetRoomModeratorRequest) error {
	resigns := !q.Moderator && id.User(q.User) == by && h.isModerator(by)
	switch {
	case h.rank(by) < 2 && !resigns:
		return errModerator
	case q.User == 0 || q.User == h.Owner:
		return errNoUser
	case q.Moderator && len(h.Moderators) >= maxModerators && !h.isModerator(id.User(q.User)):
		return errModerators
	case q.Moderator:
		if err := s.deps.Accounts.Exist(ctx, []id.User{id.User(q.User)}); err != nil {
			return err
		}
	}
	return h.commit(ctx, s, func(tx *sql.Tx) error {
		statement := `DELETE FROM room_moderators WHERE room = $1 AND moderator = $2`
		if q.Moderator && !h.isModerator(id.User(q.User)) {
			if err := checkModerated(ctx, tx, id.User(q.User)); err != nil {
				return err
			}
		}
		if q.Moderator {
			statement = `INSERT INTO room_moderators (room, moderator) VALUES ($1, $2) ON CONFLICT DO NOTHING`
		}
		_, err := tx.ExecContext(ctx, statement, int64(h.room()), int64(q.User))
		return err
	})
}
