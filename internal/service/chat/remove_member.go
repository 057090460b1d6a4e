package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Remove removes users from a group. Admins remove members; the owner removes anyone.
func (s *Service) Remove(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	if len(list) > maxUsersPerCall {
		return 0, errs.New(errs.Invalid, "too_many_users", "remove at most 500 users at once")
	}
	seq, err := s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		if st.notices == noticesEverybody {
			return nil, errNotices
		}
		var users []uint64
		for _, u := range list {
			role := st.role(id.User(u))
			if role == 0 || slices.Contains(users, u) {
				continue
			}
			if role >= st.role(by) {
				return nil, errNotAllowed
			}
			users = append(users, u)
		}
		if len(users) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_REMOVED, Users: users}, s.checkMembers(ctx, c, nil)
	})
	s.resizeGroupAfter(ctx, c, seq)
	if err != nil {
		return 0, err
	}
	if st, err := s.linearizableState(ctx, c); err != nil || !st.channel {
		return seq, err
	}
	users := make([]id.User, len(list))
	for i, u := range list {
		users[i] = id.User(u)
	}
	_, err = s.unfollow(ctx, c, users...)
	return seq, err
}

// Leave ends a membership. An owner transfers or dissolves the group first; anyone can leave a dissolved group.
func (s *Service) Leave(ctx context.Context, c id.Conversation, u id.User) (uint64, error) {
	st, err := s.linearizableState(ctx, c)
	if err == nil && st.kind == thread {
		return s.unfollowThread(ctx, st, u)
	}
	if err == nil && st.channel && st.role(u) == 0 {
		if st.notices != 0 {
			if _, ok, err := s.memberOf(ctx, st, u); err != nil || !ok {
				return 0, errors.Join(err, errNoConversation)
			}
			return 0, errNotices
		}
		n, err := s.unfollow(ctx, c, u)
		if err == nil && n == 0 {
			err = errNoConversation
		}
		return 0, err
	}
	seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		switch {
		case st.role(u) == 0:
			return nil, errNoConversation
		case st.kind != group:
			return nil, errNotGroup
		case st.ticket != 0:
			return nil, errTicket
		case st.role(u) == roleOwner && !st.dissolved:
			return nil, errs.New(errs.Denied, "owner_stays", "transfer the group to another member first, or dissolve it")
		}
		control := &chatv1.Control{Action: chatv1.Control_ACTION_LEFT, Actor: uint64(u), Users: []uint64{uint64(u)}}
		if st.dissolved {
			return control, nil
		}
		return control, s.checkMembers(ctx, c, nil)
	})
	s.resizeGroupAfter(ctx, c, seq)
	return seq, err
}
