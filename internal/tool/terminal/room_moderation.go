package terminal

import (
	"context"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// roomInfo shows a room and, to those who moderate it, who may not enter or write.
func (s *screen) roomInfo(ctx context.Context, room uint64, rest string) error {
	if rest != "" {
		return errRoomUse
	}
	r, err := call(ctx, s.client.Room().GetRoom, &chatv1.GetRoomRequest{Room: room})
	if err != nil {
		return err
	}
	if err := s.readNames(ctx, append([]uint64{r.Owner}, r.Moderators...)); err != nil {
		return err
	}
	s.mu.Lock()
	likes, viewers := s.inside.likes, s.inside.viewers
	s.mu.Unlock()
	s.say("  %s, by %s; %s, %s; id %d", oneLine(plain(r.Title)), s.name(ctx, r.Owner), counted(viewers, "viewer"), counted(likes, "like"), r.Id)
	moderates := r.Owner == s.client.User()
	for _, u := range r.Moderators {
		s.say("  moderator: @%s  %s", s.handle(u), s.name(ctx, u))
		moderates = moderates || u == s.client.User()
	}
	if r.Announcement != "" {
		s.say("  announcement: %s", indented(plain(r.Announcement)))
	}
	if r.Muted {
		s.say("  only moderators may write in the room")
	}
	if !moderates {
		return nil
	}
	return s.sayRestrictions(ctx, room)
}

func (s *screen) sayRestrictions(ctx context.Context, room uint64) error {
	r, err := call(ctx, s.client.Room().ListRoomRestrictions, &chatv1.ListRoomRestrictionsRequest{Room: room})
	if err != nil {
		return err
	}
	var users []uint64
	for _, of := range r.Restrictions {
		users = append(users, of.User)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	for _, of := range r.Restrictions {
		if of.KickedUntilMs > 0 {
			s.say("  @%s may not enter until %s", s.handle(of.User), dated(time.UnixMilli(of.KickedUntilMs), "2 January, 15:04"))
		}
		if of.MutedUntilMs > 0 {
			s.say("  @%s may not write until %s", s.handle(of.User), dated(time.UnixMilli(of.MutedUntilMs), "2 January, 15:04"))
		}
	}
	return nil
}

func (s *screen) kickFromRoom(ctx context.Context, room uint64, rest string) error {
	user, seconds, err := s.restricted(ctx, rest)
	if err == nil {
		_, err = call(ctx, s.client.Room().KickFromRoom, &chatv1.KickFromRoomRequest{Room: room, User: user, Seconds: seconds})
	}
	return s.done(err)
}

// muteInRoom mutes a user for a time, or all but moderators until it is ended.
func (s *screen) muteInRoom(ctx context.Context, room uint64, rest string) error {
	switch rest {
	case "all", "all 0":
		muted := rest == "all"
		return s.changeRoom(ctx, &chatv1.UpdateRoomRequest{Room: room, Muted: &muted})
	}
	user, seconds, err := s.restricted(ctx, rest)
	if err == nil {
		_, err = call(ctx, s.client.Room().MuteInRoom, &chatv1.MuteInRoomRequest{Room: room, User: user, Seconds: seconds})
	}
	return s.done(err)
}

// restricted returns who is kicked or muted, and for how long; 0 ends it.
func (s *screen) restricted(ctx context.Context, rest string) (user uint64, seconds uint32, err error) {
	user, text, err := s.userOf(ctx, rest)
	if err != nil || text == "0" {
		return user, 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 365*24*time.Hour {
		return 0, 0, errorf("give a time, such as 10m or 24h; 0 ends it")
	}
	return user, uint32(d / time.Second), nil
}

func (s *screen) changeRoom(ctx context.Context, r *chatv1.UpdateRoomRequest) error {
	_, err := call(ctx, s.client.Room().UpdateRoom, r)
	return s.done(err)
}

func (s *screen) announceInRoom(ctx context.Context, room uint64, text string) error {
	return s.changeRoom(ctx, &chatv1.UpdateRoomRequest{Room: room, Announcement: &text})
}

func (s *screen) renameRoom(ctx context.Context, room uint64, title string) error {
	return s.changeRoom(ctx, &chatv1.UpdateRoomRequest{Room: room, Title: &title})
}

// roomModerator makes a user a moderator, or no longer one.
func (s *screen) roomModerator(ctx context.Context, room uint64, rest string) error {
	user, off, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	if off = strings.TrimSpace(off); off != "" && off != "off" {
		return errRoomUse
	}
	_, err = call(ctx, s.client.Room().SetRoomModerator, &chatv1.SetRoomModeratorRequest{Room: room, User: user, Moderator: off == ""})
	return s.done(err)
}

func (s *screen) closeRoom(ctx context.Context, room uint64, sure string) error {
	if sure != "yes" {
		return errorf("this closes the room for all; confirm with /room close yes")
	}
	_, err := call(ctx, s.client.Room().CloseRoom, &chatv1.CloseRoomRequest{Room: room})
	return s.done(err)
}
