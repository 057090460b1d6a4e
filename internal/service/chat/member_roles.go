package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	roleMember = chatv1.Role_ROLE_MEMBER
	roleAdmin  = chatv1.Role_ROLE_ADMIN
	roleOwner  = chatv1.Role_ROLE_OWNER
)

var (
	errNotGroup  = errs.New(errs.Invalid, "not_a_group", "this works only in a group, and this is a one-to-one conversation or a thread")
	errMayNotOwn = errs.New(errs.Denied, "cannot_own", "the bot of a bridge and people of other systems cannot own a group; choose another member")
)

// changeGroup runs change for a group in which by has at least a role.
func (s *Service) changeGroup(ctx context.Context, c id.Conversation, by id.User, least chatv1.Role, decide func(*state) (*chatv1.Control, error)) (uint64, error) {
	return s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		role := st.role(by)
		switch {
		case role == 0:
			return nil, errNoConversation
		case st.kind != group:
			return nil, errNotGroup
		case st.dissolved:
			return nil, errDissolved
		case role < least:
			return nil, errNotAllowed
		}
		control, err := decide(st)
		if control != nil {
			control.Actor = uint64(by)
		}
		return control, err
	})
}

// SetRole makes a member an admin, or an admin a member. Only the owner may.
func (s *Service) SetRole(ctx context.Context, c id.Conversation, by, u id.User, role chatv1.Role) (uint64, error) {
	if role != roleMember && role != roleAdmin {
		return 0, errs.New(errs.Invalid, "bad_role", "a role is member or admin; use Transfer to make another member the owner")
	}
	if role == roleAdmin {
		if err := s.addFollower(ctx, c, by, u); err != nil {
			return 0, err
		}
	}
	return s.changeGroup(ctx, c, by, roleOwner, func(st *state) (*chatv1.Control, error) {
		switch st.role(u) {
		case 0:
			return nil, errs.New(errs.NotFound, "no_member", "this user is not in the group")
		case role:
			return nil, nil
		case roleOwner:
			return nil, errNotAllowed
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_ROLE, Users: []uint64{uint64(u)}, Role: role}, nil
	})
}

// mayOwn reports whether a user may own a group.
func (s *Service) mayOwn(ctx context.Context, u id.User) (bool, error) {
	if s.deps.MayOwn == nil {
		return true, nil
	}
	return s.deps.MayOwn(ctx, u)
}

// checkOwner fails if a user may not own a group.
func (s *Service) checkOwner(ctx context.Context, u id.User) error {
	may, err := s.mayOwn(ctx, u)
	if err == nil && !may {
		err = errMayNotOwn
	}
	return err
}

// Transfer makes another member the owner.
func (s *Service) Transfer(ctx context.Context, c id.Conversation, by, u id.User) (uint64, error) {
	return s.changeGroup(ctx, c, by, roleOwner, func(st *state) (*chatv1.Control, error) {
		if st.role(u) == 0 {
			return nil, errs.New(errs.NotFound, "no_member", "this user is not in the group")
		}
		if u == by {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_TRANSFERRED, Users: []uint64{uint64(u)}}, s.checkOwner(ctx, u)
	})
}

// MuteMembers prevents members from writing until a time; without users, all members but admins. 0 unmutes.
func (s *Service) MuteMembers(ctx context.Context, c id.Conversation, by id.User, r *chatv1.MuteMembersRequest) (uint64, error) {
	if len(r.Users) > maxUsersPerCall || r.UntilMs < 0 {
		return 0, errs.New(errs.Invalid, "bad_mute", "mute at most 500 users at once, until a time in milliseconds since 1970")
	}
	return s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		for _, u := range r.Users {
			if role := st.role(id.User(u)); role == 0 {
				return nil, errs.New(errs.NotFound, "no_member", "one of these users is not in the group")
			} else if role >= st.role(by) {
				return nil, errNotAllowed
			}
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_MUTED, Users: r.Users, UntilMs: r.UntilMs}, nil
	})
}
