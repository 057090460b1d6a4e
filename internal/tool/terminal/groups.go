package terminal

import (
	"context"
	"fmt"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (s *screen) group(ctx context.Context, rest string) error {
	title, handles := rest, ""
	if at := strings.Index(" "+rest, " @"); at >= 0 {
		title, handles = strings.TrimSpace(rest[:at]), rest[at:]
	}
	if title == "" {
		return errorf("give a title, and then handles: /group Holidays @alice @bob")
	}
	r := &chatv1.CreateGroupRequest{Title: title}
	if handles != "" {
		users, err := s.usersOf(ctx, handles)
		if err != nil {
			return err
		}
		r.Members = users
	}
	c, err := call(ctx, s.client.Chat().CreateGroup, r)
	if err != nil {
		return err
	}
	if int(c.MemberCount) <= len(r.Members) {
		s.say("Those whom you may not add were invited, and may accept or decline.")
	}
	return s.enter(ctx, c)
}

func (s *screen) info(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	if c, err = call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: c.Id}); err != nil {
		return err
	}
	if c.Notices != 0 {
		s.say("  %s, system notices, which one mutes and cannot leave; id %d", oneLine(plain(c.Title)), c.Id)
	} else if c.Ticket {
		t, err := s.client.Ticket(ctx, c.Id)
		if err != nil {
			return err
		}
		s.say("  a ticket of %s: %s; %s", oneLine(plain(c.Title)), oneLine(plain(t.Subject)), s.ticketState(ctx, t))
		return nil
	} else if c.Channel {
		s.say("  %s, a channel (%s), followers: %d; joining is by %s; id %d", oneLine(plain(c.Title)), channelName(c), c.MemberCount, policyName(c.JoinPolicy), c.Id)
	} else {
		s.say("  %s, members: %d; you are %s; joining is by %s; id %d", oneLine(plain(c.Title)), c.MemberCount, roleName(c.Role), policyName(c.JoinPolicy), c.Id)
	}
	if c.Announcement != "" {
		s.say("  announcement: %s", indented(plain(c.Announcement)))
	}
	if c.MutedAll && !c.Channel {
		s.say("  only admins may write now")
	}
	return nil
}

func roleName(r chatv1.Role) string {
	return phrase(roleWord(r))
}

func roleWord(r chatv1.Role) string { return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_")) }

func policyName(p chatv1.JoinPolicy) string {
	if p == chatv1.JoinPolicy_JOIN_POLICY_UNSPECIFIED {
		p = chatv1.JoinPolicy_JOIN_POLICY_INVITE
	}
	return phrase(policyWords[p])
}

// policyWords say who lets people in.
var policyWords = map[chatv1.JoinPolicy]string{chatv1.JoinPolicy_JOIN_POLICY_INVITE: "invitation", chatv1.JoinPolicy_JOIN_POLICY_OPEN: "anyone's choice",
	chatv1.JoinPolicy_JOIN_POLICY_APPROVAL: "approval"}

func (s *screen) members(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	for page := ""; ; {
		r, err := call(ctx, s.client.Chat().ListMembers, &chatv1.ListMembersRequest{Conversation: c.Id, Limit: pageSize, Page: page})
		if err != nil {
			return err
		}
		users := make([]uint64, len(r.Members))
		for i, m := range r.Members {
			users[i] = m.User
		}
		if err := s.readNames(ctx, users); err != nil {
			return err
		}
		for _, m := range r.Members {
			line := fmt.Sprintf("  @%s  %s  (%s)", s.handle(m.User), s.name(ctx, m.User), roleName(m.Role))
			if until := time.UnixMilli(m.MutedUntilMs); time.Now().Before(until) {
				line += phrasef("  silenced until %s", dated(until, "2 January, 15:04"))
			}
			s.say("%s", line)
		}
		if page = r.Next; page == "" {
			return nil
		}
	}
}

// inGroup makes a call about users in the open group.
func (s *screen) inGroup(ctx context.Context, rest string, call func(group uint64, users []uint64) error) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	users, err := s.usersOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.done(call(c.Id, users))
}

func (s *screen) invite(ctx context.Context, rest string) error {
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		change, err := call(ctx, s.client.Chat().Invite, &chatv1.InviteRequest{Conversation: group, Users: users})
		for _, u := range change.GetInvited() {
			s.say("%s was invited, and may accept or decline.", s.name(ctx, u))
		}
		return err
	})
}

func (s *screen) remove(ctx context.Context, rest string) error {
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		_, err := call(ctx, s.client.Chat().Remove, &chatv1.RemoveRequest{Conversation: group, Users: users})
		return err
	})
}

func (s *screen) ban(ctx context.Context, rest string) error {
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		_, err := call(ctx, s.client.Chat().Ban, &chatv1.BanRequest{Conversation: group, Users: users})
		return err
	})
}

func (s *screen) unban(ctx context.Context, rest string) error {
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		_, err := call(ctx, s.client.Chat().Unban, &chatv1.UnbanRequest{Conversation: group, Users: users})
		return err
	})
}

func (s *screen) bans(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	count := 0
	for page := ""; ; {
		r, err := call(ctx, s.client.Chat().ListBans, &chatv1.ListBansRequest{Conversation: c.Id, Limit: pageSize, Page: page})
		if err != nil {
			return err
		}
		if err := s.readNames(ctx, r.Users); err != nil {
			return err
		}
		for _, u := range r.Users {
			s.say("  @%s  %s", s.handle(u), s.name(ctx, u))
		}
		count += len(r.Users)
		if page = r.Next; page == "" {
			break
		}
	}
	if count == 0 {
		s.say("No one is banned.")
	}
	return nil
}

func (s *screen) transfer(ctx context.Context, rest string) error {
	if c, err := s.current(); err == nil && c.Ticket {
		return s.transferTicket(ctx, c, rest)
	}
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		_, err := call(ctx, s.client.Chat().Transfer, &chatv1.TransferRequest{Conversation: group, User: users[0]})
		return err
	})
}

func (s *screen) leave(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	if _, err := call(ctx, s.client.Chat().Leave, &chatv1.LeaveRequest{Conversation: c.Id}); err != nil {
		return err
	}
	s.shut(ctx)
	return s.done(nil)
}

func (s *screen) update(ctx context.Context, set func(*chatv1.UpdateGroupRequest)) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	r := &chatv1.UpdateGroupRequest{Conversation: c.Id}
	set(r)
	_, err = call(ctx, s.client.Chat().UpdateGroup, r)
	return s.done(err)
}

func (s *screen) rename(ctx context.Context, title string) error {
	return s.update(ctx, func(r *chatv1.UpdateGroupRequest) { r.Title = &title })
}

func (s *screen) announce(ctx context.Context, text string) error {
	return s.update(ctx, func(r *chatv1.UpdateGroupRequest) { r.Announcement = &text })
}

func (s *screen) policy(ctx context.Context, word string) error {
	p, ok := chatv1.JoinPolicy_value["JOIN_POLICY_"+strings.ToUpper(word)]
	if !ok || p == 0 {
		return errorf("give a policy: invite (by admins), open (anyone) or approval (admins decide)")
	}
	return s.update(ctx, func(r *chatv1.UpdateGroupRequest) { r.JoinPolicy = chatv1.JoinPolicy(p).Enum() })
}

func (s *screen) role(ctx context.Context, rest string) error {
	handle, word, _ := strings.Cut(rest, " ")
	role := map[string]chatv1.Role{"admin": chatv1.Role_ROLE_ADMIN, "member": chatv1.Role_ROLE_MEMBER}[strings.TrimSpace(word)]
	if role == chatv1.Role_ROLE_UNSPECIFIED {
		return errorf("use /role @handle admin or /role @handle member; /transfer changes the owner")
	}
	return s.inGroup(ctx, handle, func(group uint64, users []uint64) error {
		_, err := call(ctx, s.client.Chat().SetRole, &chatv1.SetRoleRequest{Conversation: group, User: users[0], Role: role})
		return err
	})
}

func (s *screen) silence(ctx context.Context, rest string) error {
	who, long, _ := strings.Cut(rest, " ")
	d := time.Hour
	if long = strings.TrimSpace(long); long != "" {
		var err error
		if d, err = time.ParseDuration(long); err != nil || d <= 0 {
			return errorf("give a time such as 10m or 24h")
		}
	}
	return s.muteMembers(ctx, who, time.Now().Add(d).UnixMilli())
}

func (s *screen) unsilence(ctx context.Context, rest string) error {
	return s.muteMembers(ctx, rest, 0)
}

func (s *screen) muteMembers(ctx context.Context, who string, until int64) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	r := &chatv1.MuteMembersRequest{Conversation: c.Id, UntilMs: until}
	if who != "all" {
		if r.Users, err = s.usersOf(ctx, who); err != nil {
			return err
		}
	}
	_, err = call(ctx, s.client.Chat().MuteMembers, r)
	return s.done(err)
}

func (s *screen) link(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Chat().CreateJoinLink, &chatv1.CreateJoinLinkRequest{Conversation: c.Id})
	if err == nil {
		s.say("  others join with /join %s", r.Token)
	}
	return err
}

func (s *screen) unlink(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Chat().RevokeJoinLink, &chatv1.RevokeJoinLinkRequest{Conversation: c.Id})
	return s.done(err)
}

func (s *screen) requests(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Chat().ListJoinRequests, &chatv1.ListJoinRequestsRequest{Conversation: c.Id})
	if err != nil {
		return err
	}
	if len(r.Requests) == 0 {
		s.say("There are no requests to join.")
	}
	for _, q := range r.Requests {
		name := s.name(ctx, q.User)
		s.say("  @%s  %s  %s", s.handle(q.User), name, oneLine(plain(q.Message)))
	}
	return nil
}

func admit(accept bool) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
			_, err := call(ctx, s.client.Chat().AnswerJoinRequest, &chatv1.AnswerJoinRequestRequest{Conversation: group, User: users[0], Accept: accept})
			return err
		})
	}
}

func (s *screen) dissolve(ctx context.Context, rest string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	if rest != "yes" {
		return errorf("this dissolves the group for all members; confirm with /dissolve yes")
	}
	if _, err := call(ctx, s.client.Chat().Dissolve, &chatv1.DissolveRequest{Conversation: c.Id}); err != nil {
		return err
	}
	s.shut(ctx)
	return s.done(nil)
}
