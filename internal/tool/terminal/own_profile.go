package terminal

import (
	"context"
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
	shown := map[bool]string{false: phrase("shown"), true: phrase("hidden")}
	s.say("  %s; what you have read is %s", describePresence(set), shown[set.HideRead])
	for word, value := range adders {
		if value == set.WhoMayAdd {
			s.say("  who may add you to groups: %s", phrase(word))
		}
	}
	if set.NoLinkPreviews {
		s.say("  your links have no previews")
	}
	return nil
}

// adders are the words for who may add the user to groups.
var adders = map[string]accountv1.WhoMayAdd{
	"default": accountv1.WhoMayAdd_WHO_MAY_ADD_UNSPECIFIED, "everyone": accountv1.WhoMayAdd_WHO_MAY_ADD_EVERYONE,
	"friends": accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, "nobody": accountv1.WhoMayAdd_WHO_MAY_ADD_NOBODY,
}

// addable sets who may add the user to groups; others invite the user.
func (s *screen) addable(ctx context.Context, word string) error {
	who, known := adders[word]
	if !known {
		return errorf("say /addable default, everyone, friends or nobody")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.WhoMayAdd = who })
}

// previews says whether links that the user sends have previews.
func (s *screen) previews(ctx context.Context, word string) error {
	if word != "on" && word != "off" {
		return errorf("say /previews on or /previews off")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.NoLinkPreviews = word == "off" })
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
		return errorf("say /hide read, or /hide read off")
	}
	return s.changeSettings(ctx, func(set *accountv1.Settings) { set.HideRead = off == "" })
}

// personalization says whether what the user reads, likes and comments on ranks /foryou.
func (s *screen) personalization(ctx context.Context, rest string) error {
	switch rest = strings.TrimSpace(rest); rest {
	case "on", "off":
		return s.changeSettings(ctx, func(set *accountv1.Settings) { set.NoPersonalization = rest == "off" })
	}
	return errorf("say /personalization off, so that /foryou is ranked without what you read, like and comment on; or /personalization on")
}

func (s *screen) password(ctx context.Context, _ string) error {
	var given [3]string
	for i, question := range []string{phrase("Current password: "), phrase("New password: "), phrase("New password, again: ")} {
		var err error
		if given[i], err = s.console.Ask(question, true); err != nil {
			return err
		}
	}
	if given[1] != given[2] {
		return errorf("these are two different passwords; nothing has changed")
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
			here = phrase("  (here)")
		}
		s.say("%3d  %s, last used %s%s%s", i+1, oneLine(plain(n.Name)), dated(time.UnixMilli(n.UsedMs), "2 January, 15:04"), receivedText(n), here)
	}
	return nil
}

func (s *screen) revoke(ctx context.Context, rest string) error {
	session, err := s.inLastList(rest, &s.sessions, errorf("no session has this number; /sessions lists them"))
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Account().RevokeSession, &accountv1.RevokeSessionRequest{Session: session})
	return s.done(err)
}

func (s *screen) logout(ctx context.Context, rest string) error {
	if rest != "" && rest != "all" {
		return errorf("/logout takes nothing, or all")
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
