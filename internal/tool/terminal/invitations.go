package terminal

import (
	"context"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// invitation is one to a group or to an organization; the other is 0.
type invitation struct {
	conversation, organization uint64
	title                      string
	inviter                    uint64
	timeMs                     int64
}

// invitations lists the user's invitations to groups and organizations, or answers one of them by its number in the list.
func (s *screen) invitations(ctx context.Context, rest string) error {
	list, err := s.readInvitations(ctx)
	if err != nil {
		return err
	}
	if rest == "" {
		return s.listInvitations(ctx, list)
	}
	word, number, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 1 || n > len(list) || word != "accept" && word != "decline" {
		return errorf("write /invitations accept N or /invitations decline N, with a number of /invitations")
	}
	i, accept := list[n-1], word == "accept"
	if i.organization != 0 {
		_, err := call(ctx, s.client.Organization().AnswerOrganizationInvitation, &chatv1.AnswerOrganizationInvitationRequest{Organization: i.organization, Accept: accept})
		return s.done(err)
	}
	if _, err := call(ctx, s.client.Chat().AnswerInvitation, &chatv1.AnswerInvitationRequest{Conversation: i.conversation, Accept: accept}); err != nil || !accept {
		return s.done(err)
	}
	return s.enterJoined(ctx, i.conversation)
}

// readInvitations returns the invitations to groups, and then those to organizations.
func (s *screen) readInvitations(ctx context.Context) (list []invitation, err error) {
	groups, err := call(ctx, s.client.Chat().ListInvitations, &chatv1.ListInvitationsRequest{})
	if err != nil {
		return nil, err
	}
	organizations, err := call(ctx, s.client.Organization().ListOrganizationInvitations, &chatv1.ListOrganizationInvitationsRequest{})
	if err != nil {
		return nil, err
	}
	for _, i := range groups.Invitations {
		list = append(list, invitation{conversation: i.Conversation, title: i.Title, inviter: i.Inviter, timeMs: i.TimeMs})
	}
	for _, i := range organizations.Invitations {
		list = append(list, invitation{organization: i.Organization, title: i.Name, inviter: i.Inviter, timeMs: i.TimeMs})
	}
	return list, nil
}

func (s *screen) listInvitations(ctx context.Context, list []invitation) error {
	if len(list) == 0 {
		s.say("There are no invitations.")
		return nil
	}
	inviters := make([]uint64, len(list))
	for i, v := range list {
		inviters[i] = v.inviter
	}
	if err := s.readNames(ctx, inviters); err != nil {
		return err
	}
	for i, v := range list {
		s.say("%4d  %s  by %s (@%s), %s", i+1, v.describe(), s.name(ctx, v.inviter), s.handle(v.inviter), dated(time.UnixMilli(v.timeMs), "2 January, 15:04"))
	}
	return nil
}

// describe returns what an invitation is to.
func (i invitation) describe() string {
	title := oneLine(plain(i.title))
	if i.organization != 0 {
		return phrasef("the organization %s", title)
	}
	return title
}

// showInvitation prints that the user was invited.
func (s *screen) showInvitation(ctx context.Context, i *chatv1.InvitationsChange) {
	if i.Inviter != 0 {
		s.say("* %s invites you to %s: /invitations", s.name(ctx, i.Inviter), invitedTo(i))
	}
}

func invitedTo(i *chatv1.InvitationsChange) string {
	if i.Organization != 0 {
		return phrase("an organization")
	}
	return phrase("a group")
}
