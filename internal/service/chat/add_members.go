package chat

import (
	"context"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (s *Service) checkCapacity(st *state, more int) error {
	if len(st.activeMembers)+more > s.config.MaxMembers {
		return errs.New(errs.Exhausted, "group_full", "the group is full")
	}
	return nil
}

// Invite adds users to a group, or invites them. In an open group each member may do that; else admins.
func (s *Service) Invite(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	change, err := s.InviteBy(ctx, c, id.Caller{User: by}, list)
	return change.GetSeq(), err
}

// InviteBy is Invite by a caller. A server may add users who do not let others add them.
func (s *Service) InviteBy(ctx context.Context, c id.Conversation, by id.Caller, list []uint64) (*chatv1.Change, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil { // before the list is checked, so that no list tells a segment from what does not exist
		return nil, err
	}
	if st.notices != 0 {
		return &chatv1.Change{}, s.addToSegment(ctx, st, by.User, list)
	}
	users, err := s.checkInvitees(ctx, by.User, list)
	if err != nil {
		return nil, err
	}
	var invited []id.User
	refund := func() {}
	// Check the permission first: a user who may not invite must not learn of others' settings. addMembers checks it again.
	if control, err := inviteControl(st, by.User, users); err == nil && control != nil && !by.Server {
		nonMembers, err := s.withoutRequests(ctx, c, control.Users)
		if err != nil {
			return nil, err
		}
		if err := s.checkMembers(ctx, c, nonMembers); err != nil { // addMembers checks only those who are added now
			return nil, err
		}
		if invited, refund, err = s.checkAdd(ctx, by.User, nonMembers); err != nil {
			return nil, err
		}
	}
	seq, err := s.addMembers(ctx, c, by.User, without(users, invited))
	if errs.IsRefusal(err) {
		refund()
	}
	if err == nil {
		err = s.storeInvitations(ctx, c, by.User, invited)
	}
	return &chatv1.Change{Seq: seq, Invited: userNumbers(invited)}, err
}

// without returns the users of a list who are not in another.
func without(users, others []id.User) []id.User {
	return slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return slices.Contains(others, u) })
}

// addMembers adds users who have agreed, or whose agreement is not required.
func (s *Service) addMembers(ctx context.Context, c id.Conversation, by id.User, users []id.User) (uint64, error) {
	if err := s.checkLargeGroupLimit(ctx, c, users); err != nil {
		return 0, err
	}
	seq, err := s.changeGroup(ctx, c, by, roleMember, func(st *state) (*chatv1.Control, error) {
		control, err := inviteControl(st, by, users)
		if control != nil {
			if err = s.checkCapacity(st, len(control.Users)); err == nil {
				err = s.checkMembers(ctx, c, users)
			}
		}
		return control, err
	})
	s.resizeGroupAfter(ctx, c, seq)
	return seq, err
}

// inviteControl returns the control entry by which a member adds users; nil if all are members already.
func inviteControl(st *state, by id.User, users []id.User) (*chatv1.Control, error) {
	if st.role(by) == 0 || (st.channel || st.policy != chatv1.JoinPolicy_JOIN_POLICY_OPEN) && st.role(by) < roleAdmin {
		return nil, errNotAllowed
	}
	if st.notices != 0 {
		return nil, errNotices
	}
	added := slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return st.role(u) != 0 }) // decide may run again with another state
	if banned := slices.DeleteFunc(slices.Clone(added), func(u id.User) bool { return !st.banned(u) }); len(banned) > 0 {
		return nil, errs.New(errs.Denied, "banned", "these users are banned from the group; unban them first: "+userList(banned))
	}
	if len(added) == 0 {
		return nil, nil
	}
	return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: userNumbers(added)}, nil
}

// checkLargeGroupLimit fails if the group is large and one of the users has reached the limit of large groups. A group that grows large
// keeps its members.
func (s *Service) checkLargeGroupLimit(ctx context.Context, c id.Conversation, users []id.User) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil || st.large == 0 {
		return err
	}
	users = slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return st.role(u) != 0 })
	of, err := s.LargeGroups(ctx, users)
	if err != nil {
		return err
	}
	for i, u := range users {
		if len(of[i]) >= s.config.MaxLargeGroups {
			return errs.New(errs.Exhausted, "too_many_large_groups", "user "+u.String()+" has reached the limit of large groups; leave one first")
		}
	}
	return nil
}

// checkAdd returns the users whom by has to invite, since they do not let by add them. It fails if some users let nobody add them, or if by
// has reached a rate limit. If the users are neither added nor invited after all, refund returns what was counted against the limit.
func (s *Service) checkAdd(ctx context.Context, by id.User, users []id.User) (invited []id.User, refund func(), err error) {
	if s.deps.CheckAdd == nil || len(users) == 0 {
		return nil, func() {}, nil
	}
	refused, invited, refund, err := s.deps.CheckAdd(ctx, by, users)
	if err == nil && len(refused) > 0 {
		err = errs.New(errs.Denied, "may_not_add", "these users do not let you add them to a group; leave them out, or send them a join link: "+userList(refused))
	}
	return invited, refund, err
}

// userList formats users for a message.
func userList(users []id.User) string {
	list := make([]string, len(users))
	for i, u := range users {
		list[i] = u.String()
	}
	return strings.Join(list, ", ")
}

// checkInvitees validates a list of users to add: they exist, and none has blocked by.
func (s *Service) checkInvitees(ctx context.Context, by id.User, list []uint64) ([]id.User, error) {
	if len(list) > maxUsersPerCall {
		return nil, errs.New(errs.Invalid, "too_many_users", "add at most 500 users at once")
	}
	users := make([]id.User, 0, len(list))
	for _, u := range list {
		if id.User(u) != by {
			users = append(users, id.User(u))
		}
	}
	slices.Sort(users)
	users = slices.Compact(users)
	if err := s.deps.Relations.Exist(ctx, users); err != nil {
		return nil, err
	}
	for _, u := range users {
		blocked, err := s.deps.Relations.Blocked(ctx, by, u)
		if err != nil {
			return nil, err
		}
		if blocked {
			return nil, errs.New(errs.Denied, "blocked", "you cannot add one of these users")
		}
	}
	return users, nil
}
