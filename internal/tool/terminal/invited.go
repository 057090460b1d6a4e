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
	return sayInvited(ctx, s, func(page string) ([]*chatv1.GroupInvitation, string, error) {
		r, err := call(ctx, s.client.Chat().ListGroupInvitations, &chatv1.ListGroupInvitationsRequest{Conversation: c.Id, Limit: pageSize, Page: page})
		return r.GetInvitations(), r.GetNext(), err
	})
}

func (s *screen) listInvitedToOrganization(ctx context.Context, org *chatv1.Organization, _ string) error {
	return sayInvited(ctx, s, func(page string) ([]*chatv1.OrganizationInvitation, string, error) {
		r, err := call(ctx, s.client.Organization().ListOrganizationInvitations, &chatv1.ListOrganizationInvitationsRequest{Organization: org.Id, Page: page})
		return r.GetInvitations(), r.GetNext(), err
	})
}

// sentInvitation is one to a group or to an organization.
type sentInvitation interface {
	GetUser() uint64
	GetInviter() uint64
}

// sayInvited lists who is invited, and by whom. List returns a page and the next page's token, empty for the last one.
func sayInvited[I sentInvitation](ctx context.Context, s *screen, list func(page string) ([]I, string, error)) error {
	found := false
	for page := ""; ; {
		invitations, next, err := list(page)
		if err != nil {
			return err
		}
		var users []uint64
		for _, i := range invitations {
			users = append(users, i.GetUser(), i.GetInviter())
		}
		if err := s.readNames(ctx, users); err != nil {
			return err
		}
		for _, i := range invitations {
			found = true
			s.say("  @%s  %s, invited by %s", s.handle(i.GetUser()), s.name(ctx, i.GetUser()), s.name(ctx, i.GetInviter()))
		}
		if page = next; page == "" {
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
