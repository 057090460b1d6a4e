package terminal

import (
	"context"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// listInvited lists the users who are invited to the open group and have not answered.
func (s *screen) listInvited(ctx context.Context, _ string) error {
	c, err := s.currentGroup()
	if err != nil {
		return err
	}
	found := false
	for page := ""; ; {
		r, err := call(ctx, s.client.Chat().ListGroupInvitations, &chatv1.ListGroupInvitationsRequest{Conversation: c.Id, Limit: pageSize, Page: page})
		if err != nil {
			return err
		}
		var users []uint64
		for _, i := range r.Invitations {
			users = append(users, i.User, i.Inviter)
		}
		if err := s.readNames(ctx, users); err != nil {
			return err
		}
		for _, i := range r.Invitations {
			found = true
			s.say("  @%s  %s, invited by %s", s.handle(i.User), s.name(ctx, i.User), s.name(ctx, i.Inviter))
		}
		if page = r.Next; page == "" {
			break
		}
	}
	if !found {
		s.say("Nobody is invited.")
	}
	return nil
}

// uninvite cancels invitations to the open group.
func (s *screen) uninvite(ctx context.Context, rest string) error {
	return s.inGroup(ctx, rest, func(group uint64, users []uint64) error {
		for _, u := range users {
			if _, err := call(ctx, s.client.Chat().CancelInvitation, &chatv1.CancelInvitationRequest{Conversation: group, User: u}); err != nil {
				return err
			}
		}
		return nil
	})
}
