package terminal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// invitations lists the user's invitations to groups, or answers one of them by its number in the list.
func (s *screen) invitations(ctx context.Context, rest string) error {
	r, err := call(ctx, s.client.Chat().ListInvitations, &chatv1.ListInvitationsRequest{})
	if err != nil {
		return err
	}
	if rest == "" {
		return s.listInvitations(ctx, r.Invitations)
	}
	word, number, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 1 || n > len(r.Invitations) || word != "accept" && word != "decline" {
		return errors.New("write /invitations accept N or /invitations decline N, with a number of /invitations")
	}
	group := r.Invitations[n-1].Conversation
	if _, err := call(ctx, s.client.Chat().AnswerInvitation, &chatv1.AnswerInvitationRequest{Conversation: group, Accept: word == "accept"}); err != nil || word == "decline" {
		return s.done(err)
	}
	c, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: group})
	if err != nil {
		return err
	}
	return s.enter(ctx, c)
}

func (s *screen) listInvitations(ctx context.Context, list []*chatv1.Invitation) error {
	if len(list) == 0 {
		s.say("There are no invitations.")
		return nil
	}
	inviters := make([]uint64, len(list))
	for i, v := range list {
		inviters[i] = v.Inviter
	}
	if err := s.readNames(ctx, inviters); err != nil {
		return err
	}
	for i, v := range list {
		s.say("%4d  %s  by %s (@%s), %s", i+1, oneLine(plain(v.Title)), s.name(ctx, v.Inviter), s.handle(v.Inviter), time.UnixMilli(v.TimeMs).Format("2 January, 15:04"))
	}
	return nil
}

// showInvitation prints that the user was invited to a group.
func (s *screen) showInvitation(ctx context.Context, i *chatv1.InvitationsChange) {
	if i.Inviter != 0 {
		s.say("* %s invites you to a group: /invitations", s.name(ctx, i.Inviter))
	}
}
