package terminal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/printable"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errRoomUse = errors.New("use /room new TITLE, /room list, /room enter ID, /room send TEXT, /room leave, /room kick @handle 10m, or /room mute @handle 10m")
	errNoRoom  = errors.New("you are in no room; /room enter ID first")
)

// room enters a chat room, or does something in the one that the user is in.
func (s *screen) room(ctx context.Context, rest string) error {
	what, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	s.mu.Lock()
	room := s.roomID
	s.mu.Unlock()
	switch {
	case what == "list" && rest == "":
		return s.listRooms(ctx)
	case what == "new" && rest != "":
		r, err := call(ctx, s.client.Room().CreateRoom, &chatv1.CreateRoomRequest{Title: rest})
		if err != nil {
			return err
		}
		return s.enterRoom(strconv.FormatUint(r.Id, 10))
	case what == "enter" && rest != "":
		return s.enterRoom(rest)
	case what != "send" && what != "leave" && what != "kick" && what != "mute":
		return errRoomUse
	case room == 0:
		return errNoRoom
	case what == "leave" && rest == "":
		s.leftRoom(room)
		s.client.LeaveRoom(room)
		return s.done(nil)
	case what == "send" && rest != "":
		_, err := s.client.SendRoomText(ctx, room, rest) // it comes back with the room's messages
		return err
	case what == "kick" || what == "mute":
		return s.restrict(ctx, room, what, rest)
	}
	return errRoomUse
}

func (s *screen) listRooms(ctx context.Context) error {
	r, err := call(ctx, s.client.Room().ListRooms, &chatv1.ListRoomsRequest{})
	if err != nil {
		return err
	}
	if len(r.Rooms) == 0 {
		s.say("You own and moderate no open rooms.")
	}
	for _, room := range r.Rooms {
		s.say("  %d  %s", room.Id, oneLine(plain(room.Title)))
	}
	return nil
}

// enterRoom enters a room, and leaves the one before.
func (s *screen) enterRoom(which string) error {
	room, err := strconv.ParseUint(which[strings.LastIndexByte(which, '/')+1:], 10, 64) // an id, or a link
	if err != nil || room == 0 {
		return errors.New("give the id or the link of a room, such as /room enter 123456")
	}
	s.mu.Lock()
	before := s.roomID
	s.roomID = room
	s.mu.Unlock()
	if before != 0 && before != room {
		s.client.LeaveRoom(before)
	}
	s.client.EnterRoom(room)
	return nil
}

// restrict kicks or mutes a user for a time; 0 ends it.
func (s *screen) restrict(ctx context.Context, room uint64, what, rest string) error {
	user, text, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 || d > 365*24*time.Hour {
		return errors.New("give a time, such as 10m or 24h; 0 ends it")
	}
	seconds := uint32(d / time.Second)
	if what == "kick" {
		_, err = call(ctx, s.client.Room().KickFromRoom, &chatv1.KickFromRoomRequest{Room: room, User: user, Seconds: seconds})
	} else {
		_, err = call(ctx, s.client.Room().MuteInRoom, &chatv1.MuteInRoomRequest{Room: room, User: user, Seconds: seconds})
	}
	return s.done(err)
}

// leftRoom notes that the user is no longer in a room.
func (s *screen) leftRoom(room uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roomID == room {
		s.roomID = 0
	}
}

// showRoom prints that the user is in a room, and what was said there last.
func (s *screen) showRoom(ctx context.Context, e *chatv1.RoomEntry) {
	s.say("* you are in the room %s, with %s; /room send TEXT", oneLine(plain(e.Room.GetTitle())), printable.Count(e.Viewers, "viewer"))
	if text := e.Room.GetAnnouncement(); text != "" {
		s.say("* announcement: %s", indented(plain(text)))
	}
	s.showRoomMessages(ctx, e.Recent)
}

func (s *screen) showRoomUpdate(ctx context.Context, u *chatv1.RoomUpdate) {
	if u.Missed > 0 {
		were := "were"
		if u.Missed == 1 {
			were = "was"
		}
		s.say("* %s of the room %s left out", printable.Count(u.Missed, "message"), were)
	}
	s.showRoomMessages(ctx, u.Messages)
	switch u.Left {
	case chatv1.RoomLeft_ROOM_LEFT_KICKED:
		s.leftRoom(u.Room)
		s.say("* a moderator took you out of the room")
	case chatv1.RoomLeft_ROOM_LEFT_CLOSED:
		s.leftRoom(u.Room)
		s.say("* the room was closed")
	}
}

func (s *screen) showRoomMessages(ctx context.Context, list []*chatv1.RoomMessage) {
	for _, m := range list {
		if text := m.GetText(); text != "" {
			s.say("%s %s: %s", s.paint(bold, "[room]"), s.name(ctx, m.Sender), indented(plain(text)))
		}
	}
}
