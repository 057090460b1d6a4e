package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errMayNotLink = errs.New(errs.Denied, "not_allowed", "admins and the owner link a group with other systems")
	errNoBridging = errs.New(errs.Invalid, "not_linkable", "channels, large groups, threads, tickets and one-to-one conversations cannot be linked with other systems")
	errBotOwns    = errs.New(errs.Denied, "cannot_own", "the bridge's bot owns this group, which bots of bridges cannot: transfer the group to a member first")
)

// MemberRole returns the role of a member, and fails for everybody else.
func (s *Service) MemberRole(ctx context.Context, c id.Conversation, u id.User) (chatv1.Role, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, err
	}
	if st.role(u) == 0 {
		return 0, errNoConversation
	}
	return st.role(u), nil
}

// MayLink fails if a user may not link a conversation with another system.
func (s *Service) MayLink(ctx context.Context, c id.Conversation, by id.User) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return err
	}
	return st.mayLink(by)
}

func (s *state) mayLink(by id.User) error {
	switch role := s.role(by); {
	case role == 0:
		return errNoConversation
	case s.kind != group, s.channel, s.ticket != 0, s.large != 0:
		return errNoBridging
	case s.dissolved:
		return errDissolved
	case role < roleAdmin:
		return errMayNotLink
	}
	return nil
}

// AddBridge makes the bot of a bridge a member of a group, in the name of an admin. Repeating it changes nothing.
func (s *Service) AddBridge(ctx context.Context, c id.Conversation, by, bot id.User) error {
	_, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		if err := st.mayLink(by); err != nil {
			return nil, err
		}
		if st.role(bot) == roleOwner {
			return nil, errBotOwns
		}
		control, err := inviteControl(st, by, []id.User{bot})
		if control == nil || err != nil {
			return nil, err
		}
		if err := s.checkCapacity(st, 1); err != nil {
			return nil, err
		}
		control.Actor = uint64(by)
		return control, s.checkMembers(ctx, c, []id.User{bot})
	})
	return err
}

// RemoveBridge removes the bot of a bridge and people of its other system from a group, in the name of an admin. Repeating it changes nothing. Owners stay.
func (s *Service) RemoveBridge(ctx context.Context, c id.Conversation, by id.User, users []id.User) error {
	seq, err := s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		var removed []uint64
		for _, u := range users {
			if role := st.role(u); role != 0 && role != roleOwner {
				removed = append(removed, uint64(u))
			}
		}
		if len(removed) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_REMOVED, Users: removed}, s.checkMembers(ctx, c, nil)
	})
	s.resizeGroupAfter(ctx, c, seq)
	return err
}

// GroupMembers returns the members of a group, ascending, to a service. The caller does not change the list.
func (s *Service) GroupMembers(ctx context.Context, c id.Conversation) ([]id.User, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	return st.activeMembers, nil
}
