package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func (s *screen) me(ctx context.Context, _ string) error {
	r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Users: []uint64{s.client.User()}})
	if err != nil {
		return err
	}
	set, err := call(ctx, s.client.Account().GetSettings, &accountv1.GetSettingsRequest{})
	if err != nil {
		return err
	}
	for _, u := range r.Users {
		s.say("  @%s  %s", u.Handle, oneLine(plain(u.DisplayName)))
		if u.Bio != "" {
			s.say("  %s", indented(plain(u.Bio)))
		}
	}
	shown := map[bool]string{false: "shown", true: "hidden"}
	s.say("  %s; what you have read is %s", describePresence(set), shown[set.HideRead])
	return nil
}

func (s *screen) profile(ctx context.Context, r *accountv1.UpdateProfileRequest) error {
	_, err := call(ctx, s.client.Account().UpdateProfile, r)
	return s.done(err)
}

func (s *screen) myName(ctx context.Context, name string) error {
	return s.profile(ctx, &accountv1.UpdateProfileRequest{DisplayName: &name})
}

func (s *screen) bio(ctx context.Context, text string) error {
	return s.profile(ctx, &accountv1.UpdateProfileRequest{Bio: &text})
}

func (s *screen) hide(ctx context.Context, rest string) error {
	what, off, _ := strings.Cut(rest, " ")
	off = strings.TrimSpace(off)
	if what != "read" || off != "" && off != "off" {
		return errors.New("say /hide read, or /hide read off")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.HideRead = off == "" })
}

// personalization says whether what the user reads, likes and comments on ranks /foryou.
func (s *screen) personalization(ctx context.Context, rest string) error {
	switch rest = strings.TrimSpace(rest); rest {
	case "on", "off":
		return s.changeSettings(ctx, func(set *accountv1.Settings) { set.NoPersonalization = rest == "off" })
	}
	return errors.New("say /personalization off, so that /foryou is ranked without what you read, like and comment on; or /personalization on")
}

func (s *screen) password(ctx context.Context, _ string) error {
	var given [3]string
	for i, question := range []string{"Current password: ", "New password: ", "New password, again: "} {
		var err error
		if given[i], err = s.console.Ask(question, true); err != nil {
			return err
		}
	}
	if given[1] != given[2] {
		return errors.New("these are two different passwords; nothing has changed")
	}
	_, err := call(ctx, s.client.Account().ChangePassword, &accountv1.ChangePasswordRequest{OldPassword: given[0], NewPassword: given[1]})
	return s.done(err)
}

func (s *screen) listSessions(ctx context.Context, _ string) error {
	r, err := call(ctx, s.client.Account().ListSessions, &accountv1.ListSessionsRequest{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sessions = nil
	for _, n := range r.Sessions {
		s.sessions = append(s.sessions, n.Session)
	}
	s.mu.Unlock()
	for i, n := range r.Sessions {
		here := ""
		if n.Current {
			here = "  (here)"
		}
		s.say("%3d  %s, last used %s%s%s", i+1, oneLine(plain(n.Name)), time.UnixMilli(n.UsedMs).Format("2 January, 15:04"), receivedText(n), here)
	}
	return nil
}

func (s *screen) revoke(ctx context.Context, rest string) error {
	session, err := s.inLastList(rest, &s.sessions, errors.New("no session has this number; /sessions lists them"))
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Account().RevokeSession, &accountv1.RevokeSessionRequest{Session: session})
	return s.done(err)
}

func (s *screen) logout(ctx context.Context, rest string) error {
	if rest != "" && rest != "all" {
		return fmt.Errorf("/logout takes nothing, or all")
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	if rest == "all" {
		if _, err := call(ctx, s.client.Account().Logout, &accountv1.LogoutRequest{All: true}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.signedOut = true
	s.mu.Unlock()
	if err := s.client.Logout(ctx); err != nil {
		s.mu.Lock()
		s.signedOut = false
		s.mu.Unlock()
		return err
	}
	s.say("Signed out.")
	return errLeave
}
