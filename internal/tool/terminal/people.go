package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// keepName caches a user's name.
func (s *screen) keepName(u *accountv1.User) {
	s.mu.Lock()
	s.people[u.Id] = person{u.Handle, shownName(u)}
	s.mu.Unlock()
}

// shownName is a user's name, with the bridge over which somebody of another system writes: a name of there may be that of somebody here.
func shownName(u *accountv1.User) string {
	name := oneLine(plain(u.DisplayName))
	if u.Bridge != "" {
		name = excerpt.WithSuffix(name, bridgeMark+oneLine(plain(u.Bridge)), maxBridgedName)
	}
	return name
}

const (
	// bridgeMark is between a name and the bridge.
	bridgeMark = " · "
	// maxBridgedName is for both, in characters: less than any place has that cuts names.
	maxBridgedName = 48
)

// promptOf is what the prompt shows of the title of a chat: 20 characters, and all of the mark of a bridge.
func promptOf(title string, peer uint64) string {
	mark := len(title)
	if at := strings.LastIndex(title, bridgeMark); peer != 0 && at >= 0 {
		mark = at
	}
	return excerpt.Marked(title[:mark], 20) + title[mark:] + "> "
}

// readNames reads the names of unknown users.
func (s *screen) readNames(ctx context.Context, users []uint64) error {
	var missing []uint64
	s.mu.Lock()
	for _, u := range users {
		if _, ok := s.people[u]; !ok {
			missing = append(missing, u)
		}
	}
	s.mu.Unlock()
	for len(missing) > 0 {
		n := min(len(missing), maxPerCall)
		r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Users: missing[:n]})
		if err != nil {
			return err
		}
		for _, u := range r.Users {
			s.keepName(u)
		}
		missing = missing[n:]
	}
	return nil
}

// name of a user: the one set for a friend, or the user's own.
func (s *screen) name(ctx context.Context, user uint64) string {
	if user == s.client.User() {
		return phrase("you")
	}
	if user == 0 {
		return phrase("the server")
	}
	if err := s.readNames(ctx, []uint64{user}); err != nil {
		return fmt.Sprint(user)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.relations[user]; r != nil && r.Friend && r.Remark != "" {
		return oneLine(plain(r.Remark))
	}
	if p, ok := s.people[user]; ok {
		return p.name
	}
	return fmt.Sprint(user)
}

func (s *screen) handle(user uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people[user].handle
}

func (s *screen) find(ctx context.Context, words string) error {
	r, err := call(ctx, s.client.Account().SearchUsers, &accountv1.SearchUsersRequest{Query: words})
	if err != nil {
		return err
	}
	if len(r.Users) == 0 {
		s.say("No one found.")
	}
	for _, u := range r.Users {
		s.keepName(u)
		s.say("  @%s  %s", u.Handle, shownName(u))
	}
	return nil
}

func (s *screen) who(ctx context.Context, rest string) error {
	user, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Users: []uint64{user}})
	if err != nil {
		return err
	}
	for _, u := range r.Users {
		s.say("  @%s  %s", u.Handle, shownName(u))
		if u.Bio != "" {
			s.say("  %s", indented(plain(u.Bio)))
		}
	}
	p, err := call(ctx, s.client.Presence().GetPresence, &presencev1.GetPresenceRequest{Users: []uint64{user}})
	if err != nil {
		return err
	}
	for _, p := range p.Presences {
		if text := presenceOf(p); text != "" {
			s.say("  %s", text)
		}
	}
	s.mu.Lock()
	rel := s.relations[user]
	s.mu.Unlock()
	if state := stateOf(rel); state != "" {
		s.say("  %s", state)
	}
	return nil
}

// stateOf describes a relation; it is empty for none.
func stateOf(r *chatv1.Relation) string {
	switch {
	case r.GetBlocked():
		return phrase("blocked")
	case r.GetFriend():
		return phrase("friend")
	case r.GetAsked():
		return phrase("wants to be your friend")
	case r.GetRequested():
		return phrase("request sent")
	}
	return ""
}

// readRelations reads all relations of the user.
func (s *screen) readRelations(ctx context.Context) error {
	all := map[uint64]*chatv1.Relation{}
	for page := ""; ; {
		r, err := call(ctx, s.client.Graph().ListRelations, &accountv1.ListRelationsRequest{Limit: pageSize, Page: page})
		if err != nil {
			return err
		}
		for _, rel := range r.Relations {
			all[rel.User] = rel
		}
		if page = r.Next; page == "" {
			break
		}
	}
	s.mu.Lock()
	s.relations = all
	s.mu.Unlock()
	return nil
}

func (s *screen) friends(ctx context.Context, _ string) error {
	if err := s.readRelations(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	var users []uint64
	for u, r := range s.relations {
		if stateOf(r) != "" {
			users = append(users, u)
		}
	}
	s.mu.Unlock()
	if len(users) == 0 {
		s.say("No friends yet. Use /find to search for people, and /add @handle.")
		return nil
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	lines := make([]string, len(users))
	for i, u := range users {
		s.mu.Lock()
		rel := s.relations[u]
		s.mu.Unlock()
		lines[i] = fmt.Sprintf("  @%s  %s  (%s)", s.handle(u), s.name(ctx, u), stateOf(rel))
		if rel.Asked && !rel.Friend && rel.Message != "" {
			lines[i] += "  " + oneLine(plain(rel.Message))
		}
	}
	s.sayAll(lines)
	return nil
}

// related caches the relation that a call returned.
func (s *screen) related(r *chatv1.Relation, err error) error {
	if err == nil {
		s.mu.Lock()
		s.relations[r.User] = r
		s.mu.Unlock()
	}
	return s.done(err)
}

func (s *screen) addFriend(ctx context.Context, rest string) error {
	u, message, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().RequestFriend, &accountv1.RequestFriendRequest{User: u, Message: message}))
}

func answer(accept bool) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		u, _, err := s.userOf(ctx, rest)
		if err != nil {
			return err
		}
		return s.related(call(ctx, s.client.Graph().AnswerFriend, &accountv1.AnswerFriendRequest{User: u, Accept: accept}))
	}
}

func (s *screen) unfriend(ctx context.Context, rest string) error {
	u, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().DeleteFriend, &accountv1.DeleteFriendRequest{User: u}))
}

func (s *screen) remark(ctx context.Context, rest string) error {
	u, remark, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().RemarkFriend, &accountv1.RemarkFriendRequest{User: u, Remark: remark}))
}

func (s *screen) block(ctx context.Context, rest string) error {
	u, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().Block, &accountv1.BlockRequest{User: u}))
}

func (s *screen) unblock(ctx context.Context, rest string) error {
	u, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().Unblock, &accountv1.UnblockRequest{User: u}))
}

// mute is a command that mutes the open chat, or the posts of a user.
func mute(on bool) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		if rest == "" {
			return configure(func(r *chatv1.ConfigureRequest) { r.Muted = &on })(s, ctx, rest)
		}
		u, _, err := s.userOf(ctx, rest)
		if err != nil {
			return err
		}
		if on {
			return s.related(call(ctx, s.client.Graph().Mute, &accountv1.MuteRequest{User: u}))
		}
		return s.related(call(ctx, s.client.Graph().Unmute, &accountv1.UnmuteRequest{User: u}))
	}
}
