package terminal

import (
	"context"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errRoomUse = errorf("use /room new TITLE, /room list or /room enter ID; in a room, /room send TEXT, info, like [N], leave, kick @handle 10m, mute @handle 10m, mute all [0], announce [TEXT], rename TITLE, moderator @handle [off] or close yes")
	errNoRoom  = errorf("you are in no room; /room enter ID first")
)

// inRoom are the commands for the room that the user is in, by their first words.
var inRoom = map[string]func(s *screen, ctx context.Context, room uint64, rest string) error{
	"send": (*screen).sendToRoom, "info": (*screen).roomInfo, "like": (*screen).likeRoom, "leave": (*screen).leaveRoom, "kick": (*screen).kickFromRoom, "mute": (*screen).muteInRoom,
	"announce": (*screen).announceInRoom, "rename": (*screen).renameRoom, "moderator": (*screen).roomModerator, "close": (*screen).closeRoom,
}

// room enters a chat room, or does something in the one that the user is in.
func (s *screen) room(ctx context.Context, rest string) error {
	what, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
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
	case inRoom[what] == nil:
		return errRoomUse
	}
	s.mu.Lock()
	room := s.roomID
	s.mu.Unlock()
	if room == 0 {
		return errNoRoom
	}
	return inRoom[what](s, ctx, room, rest)
}

func (s *screen) sendToRoom(ctx context.Context, room uint64, text string) error {
	if text == "" {
		return errRoomUse
	}
	_, err := s.client.SendRoomText(ctx, room, text) // it comes back with the room's messages
	return err
}

func (s *screen) leaveRoom(_ context.Context, room uint64, rest string) error {
	if rest != "" {
		return errRoomUse
	}
	s.leftRoom(room)
	s.client.LeaveRoom(room)
	return s.done(nil)
}

// likeRoom adds likes, one without a number. Their sum is shown to all in the room.
func (s *screen) likeRoom(_ context.Context, room uint64, rest string) error {
	n := uint64(1)
	if rest != "" {
		var err error
		if n, err = strconv.ParseUint(rest, 10, 32); err != nil || n < 1 || n > 100 {
			return errorf("give a number of likes, 1 to 100, or none for one")
		}
	}
	s.client.LikeRoom(room, uint32(n))
	return nil
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
		return errorf("give the id or the link of a room, such as /room enter 123456")
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

// leftRoom notes that the user is no longer in a room.
func (s *screen) leftRoom(room uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roomID == room {
		s.roomID, s.inside = 0, roomState{}
	}
}

// roomState is what is known of the room that the user is in.
type roomState struct {
	room       *chatv1.Room
	likes      uint64
	viewers    uint32
	likesShown time.Time // when the likes were last shown
}

// likesEvery is the minimum interval of lines about likes.
const likesEvery = 10 * time.Second

// showRoom prints that the user is in a room, and what was said there last.
func (s *screen) showRoom(ctx context.Context, e *chatv1.RoomEntry) {
	s.mu.Lock()
	s.inside = roomState{room: e.Room, likes: e.Likes, viewers: e.Viewers}
	s.mu.Unlock()
	s.say("* you are in the room %s, with %s; /room send TEXT", oneLine(plain(e.Room.GetTitle())), counted(e.Viewers, "viewer"))
	if text := e.Room.GetAnnouncement(); text != "" {
		s.say("* announcement: %s", indented(plain(text)))
	}
	s.showRoomMessages(ctx, e.Recent)
}

func (s *screen) showRoomUpdate(ctx context.Context, u *chatv1.RoomUpdate) {
	if u.Missed > 0 {
		s.say("* messages of the room that were left out: %d", u.Missed)
	}
	s.showRoomMessages(ctx, u.Messages)
	if u.Changed != nil {
		s.showRoomChange(u.Changed)
	}
	s.noteRoom(u)
	switch u.Left {
	case chatv1.RoomLeft_ROOM_LEFT_KICKED:
		s.leftRoom(u.Room)
		s.say("* a moderator took you out of the room")
	case chatv1.RoomLeft_ROOM_LEFT_CLOSED:
		s.leftRoom(u.Room)
		s.say("* the room was closed")
	}
}

// noteRoom keeps the likes and the number of viewers, and prints the likes now and then.
func (s *screen) noteRoom(u *chatv1.RoomUpdate) {
	s.mu.Lock()
	if u.Viewers != nil {
		s.inside.viewers = *u.Viewers
	}
	due := u.Likes != nil && *u.Likes > s.inside.likes && time.Since(s.inside.likesShown) > likesEvery
	if u.Likes != nil {
		s.inside.likes = *u.Likes
	}
	if due {
		s.inside.likesShown = time.Now()
	}
	s.mu.Unlock()
	if due {
		s.say("* likes of the room: %d", *u.Likes)
	}
}

// showRoomChange prints what is different in a room.
func (s *screen) showRoomChange(now *chatv1.Room) {
	s.mu.Lock()
	was := s.inside.room
	s.inside.room = now
	s.mu.Unlock()
	if was == nil {
		return
	}
	if now.Title != was.Title {
		s.say("* the room is now called %s", oneLine(plain(now.Title)))
	}
	if now.Announcement != was.Announcement && now.Announcement != "" {
		s.say("* announcement: %s", indented(plain(now.Announcement)))
	}
	switch {
	case now.Muted && !was.Muted:
		s.say("* only moderators may write in the room now")
	case was.Muted && !now.Muted:
		s.say("* everybody may write in the room again")
	}
}

func (s *screen) showRoomMessages(ctx context.Context, list []*chatv1.RoomMessage) {
	for _, m := range list {
		if text := m.GetText(); text != "" {
			s.say("%s %s: %s", s.paint(bold, phrase("[room]")), s.name(ctx, m.Sender), indented(plain(text)))
		}
	}
}
